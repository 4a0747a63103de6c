/* The folders that are attached to the hub, their watchers and how they do: read when the view is
 * opened, and whenever a record says that something changed.
 */

import { get, Refused } from "../api.js";
import { badge, fill, h, line } from "../dom.js";
import { lastPart, moment, oneLine } from "../text.js";

/** Make the view. */
export function workspaces(root, app) {
  const page = h("div", { class: "scroll page", tabindex: "0", "aria-label": "Workspaces" });
  const again = h("button", { type: "button", onclick: () => load() }, "Read again");
  fill(root, h("header", { class: "view-head" }, h("h1", {}, "Workspaces"), again), page);
  let [opened, reading, stale] = [false, false, false];

  /** Read the list, once at a time; what changed meanwhile makes it read again. */
  async function load() {
    stale = true;
    if (reading) return;
    reading = true;
    while (stale) {
      stale = false;
      await read();
    }
    reading = false;
  }

  async function read() {
    try {
      const { workspaces: found } = await get("/v1/workspaces");
      fill(page, found.length === 0 ? nothing() : found.map(workspace));
    } catch (error) {
      const missing = error instanceof Refused && error.status === 404;
      fill(page, h("p", { class: "remark" }, missing ? "This hub attaches no workspaces." : error.message));
    }
  }

  function draw() {
    const here = !root.hidden && app.signedIn === true;
    if (here && !opened) load();
    opened = here;
  }

  app.on(["workspaces"], () => opened && load());
  app.on(["place", "sign-in"], draw);
  return { draw, focus: () => page.focus() };
}

function nothing() {
  return h(
    "p",
    { class: "remark" },
    "No folder is attached. Run ",
    h("code", {}, "tidings up"),
    " in one, or ",
    h("code", {}, "tidings init"),
    " to write its ",
    h("code", {}, "tidings.toml"),
    ".",
  );
}

function workspace(one) {
  const problems = one.problems.map((text) => h("p", { class: "problem" }, line(text)));
  const config = one.config
    ? line(lastPart(one.config), { title: oneLine(one.config) })
    : "no tidings.toml";
  const watchers =
    one.watchers.length === 0
      ? h("p", { class: "remark" }, "No watchers.")
      : h("ul", { class: "watchers" }, one.watchers.map(watcher));
  return h(
    "section",
    { class: "workspace" },
    h("h2", {}, line(lastPart(one.path))),
    h("p", { class: "under" }, line(one.path, { class: "path" }), " · ", config),
    problems,
    watchers,
  );
}

function watcher(one) {
  const message = one.lastMessage ? h("p", { class: "under" }, line(one.lastMessage)) : null;
  return h(
    "li",
    {},
    h(
      "p",
      {},
      badge(one.state, one.state.replace("_", " ")),
      h("b", {}, line(one.name)),
      h(
        "span",
        { class: "apart" },
        `${one.kind === one.name ? "" : `${one.kind}, `}since ${moment(one.since)}`,
      ),
    ),
    message,
  );
}
