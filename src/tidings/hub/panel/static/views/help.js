/* The help dialog: the keys, what the states mean, and a switch for keys of one letter. */

import { dialog } from "../dialog.js";
import { badge, h } from "../dom.js";
import { KEYS, letters, setLetters } from "../keys.js";
import { STATES } from "../model/reminder.js";

/** Open it. */
export function help(app) {
  const keys = KEYS.map(([names, text]) =>
    h(
      "tr",
      {},
      h(
        "td",
        {},
        names.map((name) => h("kbd", {}, name)),
      ),
      h("td", {}, text),
    ),
  );
  const states = Object.entries(STATES).map(([name, text]) =>
    h("tr", {}, h("td", {}, badge(name)), h("td", {}, text)),
  );
  const one = h("input", { type: "checkbox", checked: letters(), onchange: () => setLetters(one.checked) });
  const version = app.status ? `Hub ${app.status.version}, process ${app.status.pid}. ` : "";
  const out = h("button", { type: "button", class: "link", onclick: () => leave() }, "Sign out");
  const inside = h(
    "div",
    { class: "dialog-body help" },
    h(
      "section",
      {},
      h("h3", {}, "Keys"),
      h("table", {}, h("tbody", {}, keys)),
      h("label", { class: "check" }, one, "Keys of one letter work"),
    ),
    h("section", {}, h("h3", {}, "States of a reminder"), h("table", {}, h("tbody", {}, states))),
    h("p", { class: "remark" }, version, out),
  );
  const element = dialog("Help", inside, { class: "help-dialog" });

  async function leave() {
    element.close();
    await app.signOut();
  }
}
