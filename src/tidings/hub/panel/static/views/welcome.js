/* The page when no session is shown: that the hub cannot be reached, or how to make it hear of a
 * session.
 */

import { fill, h } from "../dom.js";

const JOIN = `from tidings.hub import Attached

async with Attached(session, agent="helper"):
    await td.agent_loop(task, session=session)`;

/** Make the view; `does` holds what its buttons do: send. */
export function welcome(root, app, does) {
  function draw() {
    if (app.problem !== null && !app.loaded) return fill(root, unreachable());
    if (!app.loaded) return fill(root, h("p", { class: "remark" }, "Asking the hub."));
    return fill(root, app.board.sessions.size > 0 ? choose() : nobody());
  }

  function unreachable() {
    return h(
      "div",
      { class: "welcome" },
      h("h1", {}, "The hub does not answer"),
      h(
        "p",
        {},
        "Start it with ",
        h("code", {}, "tidings up"),
        ". What it had accepted is on disk and goes on from there.",
      ),
      h("p", { class: "problem" }, app.problem),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", class: "primary", onclick: () => app.retry() }, "Try again"),
      ),
    );
  }

  function nobody() {
    return h(
      "div",
      { class: "welcome" },
      h("h1", {}, "No session yet"),
      h(
        "p",
        {},
        "A session appears here as soon as it registers with the hub. Connect a coding agent with ",
        h("code", {}, "tidings connect"),
        ", or join your own loop:",
      ),
      h("pre", { class: "code" }, JOIN),
      h(
        "p",
        {},
        "What you send now waits for it: a reminder also reaches sessions that start a moment later.",
      ),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", class: "primary", onclick: does.send }, "Send a reminder"),
      ),
    );
  }

  function choose() {
    return h(
      "div",
      { class: "welcome" },
      h("h1", {}, "Choose a session"),
      h("p", { class: "remark" }, "Its transcript and its reminders are shown here."),
    );
  }

  app.on(["board", "place", "sign-in", "connection"], () => root.hidden || draw());
  return { draw };
}
