/* The page before anybody is signed in: how to get in, and a field for the token. */

import { fill, h } from "../dom.js";

/** Make the view. */
export function signin(root, app) {
  const token = h("input", {
    type: "password",
    id: "token",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "token-problem",
  });
  const problem = h("p", { class: "problem", id: "token-problem", role: "alert" });
  const button = h("button", { type: "submit", class: "primary" }, "Sign in");
  const form = h(
    "form",
    { onsubmit: enter },
    h("label", { for: "token" }, "Token"),
    h("div", { class: "row" }, token, button),
    problem,
  );
  const text = h(
    "p",
    {},
    "Run ",
    h("code", {}, "tidings panel"),
    " in a terminal: it opens this page and signs you in.",
  );
  const more = h(
    "p",
    { class: "remark" },
    "Or paste the token. It is in the file that ",
    h("code", {}, "tidings status"),
    " names. This page sends it once and keeps nothing of it; the hub sets a cookie.",
  );
  fill(root, h("div", { class: "signin" }, h("h1", {}, "Tidings"), text, form, more));

  async function enter(event) {
    event.preventDefault();
    button.disabled = true;
    if (await app.signIn(token.value.trim())) {
      token.value = "";
      await app.load();
    }
    button.disabled = false;
    token.focus();
  }

  function draw() {
    problem.textContent = app.signedIn === false ? (app.problem ?? "") : "";
    if (!root.hidden && document.activeElement === document.body) token.focus();
  }

  app.on(["sign-in"], draw);
  return { draw };
}
