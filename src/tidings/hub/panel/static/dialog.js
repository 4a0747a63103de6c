/* Dialogs: the browser's own, so that Escape closes them and the focus stays inside and returns
 * afterwards.
 */

import { h } from "./dom.js";

/** Show a dialog with a title and `inside`; gives its element. It leaves the page when it closes. */
export function dialog(title, inside, attributes = {}) {
  const close = h(
    "button",
    { type: "button", class: "plain close", "aria-label": "Close", onclick: () => element.close() },
    "Close",
  );
  const head = h("div", { class: "dialog-head" }, h("h2", { id: "dialog-title" }, title), close);
  const element = h("dialog", { ...attributes, "aria-labelledby": "dialog-title" }, head, inside);
  element.addEventListener("close", () => element.remove());
  element.addEventListener("click", (event) => event.target === element && element.close());
  document.body.append(element);
  element.showModal();
  return element;
}

/** Ask before something is done: what goes, named; `act` does it, and what it throws is shown. */
export function confirm({ title, text, inside = null, button, act }) {
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const yes = h("button", { type: "button", class: "danger", onclick: run }, button);
  const no = h("button", { type: "button", autofocus: true, onclick: () => element.close() }, "Keep");
  const content = h(
    "div",
    { class: "dialog-body" },
    h("p", {}, text),
    inside,
    problem,
    h("div", { class: "actions" }, yes, no),
  );
  const element = dialog(title, content, { class: "confirm" });

  async function run() {
    yes.disabled = true;
    try {
      await act();
      element.close();
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
      yes.disabled = false;
    }
  }
  return element;
}
