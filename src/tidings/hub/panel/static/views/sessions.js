/* The sessions at the left: the live ones first, then those that ended, each with who works where and
 * what waits.
 */

import { badge, fill, h, line } from "../dom.js";
import { Choosing } from "../choosing.js";
import { DELIVERY } from "../model/words.js";
import { counted, figure, lastPart, moment, oneLine, shortId } from "../text.js";
import { Windowed } from "../windowed.js";

/** Draw the list of sessions. */
export function sessions(root, app) {
  const scroller = h("div", { class: "scroll", id: "sessions" });
  const note = h("p", { class: "hint" });
  fill(root, h("h2", { class: "hidden-label" }, "Sessions"), note, scroller);
  const list = new Windowed(scroller, {
    key: (entry) => entry.key,
    version: (entry) => entry.version,
    draw: (entry) => (entry.session ? choosing.dress(option(entry), entry) : heading(entry)),
    estimate: 58,
  });
  const choosing = new Choosing(list, {
    label: "Sessions",
    selectable: (entry) => entry.session !== undefined,
    chosen: (entry) => entry.session?.id === app.place.sessionId,
    choose: (entry) => app.go({ view: "sessions", sessionId: entry.session.id, open: null }),
  });

  function draw() {
    const all = [...app.board.sessions.values()];
    const live = all.filter((one) => one.state === "live").sort(newest("startedMs"));
    const ended = all.filter((one) => one.state !== "live").sort(newest("endedMs"));
    list.show([...group("Live", live, app), ...group("Ended", ended, app)]);
    choosing.refresh();
    note.hidden = all.length > 0 || !app.loaded;
    note.textContent = "No session has registered yet.";
  }

  app.on(["board", "place"], draw);
  return { focus: () => scroller.focus() };
}

function newest(field) {
  return (one, other) => (other[field] ?? 0) - (one[field] ?? 0) || one.id.localeCompare(other.id);
}

function group(name, found, app) {
  if (found.length === 0) return [];
  const entries = found.map((session) => {
    const waiting = app.board.waitingFor(session.id);
    return { key: `s ${session.id}`, session, waiting, version: `${session.version} ${waiting}` };
  });
  return [{ key: `h ${name}`, name, count: found.length, version: found.length }, ...entries];
}

function heading(entry) {
  return h(
    "div",
    { class: "group", role: "presentation" },
    entry.name,
    h("span", { class: "count" }, figure(entry.count)),
  );
}

function option({ session, waiting }) {
  const [kept, meaning] = DELIVERY[session.delivery] ?? DELIVERY.unknown;
  const name = session.agent
    ? line(session.agent, { class: "name" })
    : line(shortId(session.id), { class: "name" });
  const count =
    waiting > 0
      ? h(
          "span",
          { class: "count strong", title: `${counted(waiting, "reminder")} wait at the hub` },
          figure(waiting),
        )
      : null;
  return h(
    "div",
    { class: `session ${session.state}`, title: oneLine(session.id) },
    h(
      "div",
      { class: "top" },
      badge(session.state, session.state === "live" ? "live" : "ended"),
      name,
      count,
    ),
    h(
      "div",
      { class: "under" },
      session.workspace
        ? line(lastPart(session.workspace), { title: oneLine(session.workspace) })
        : h("span", {}, "no workspace"),
      h("span", { class: "apart" }, when(session)),
    ),
    h(
      "div",
      { class: "under" },
      h("bdi", { class: "id" }, shortId(session.id)),
      h("span", { class: "apart", title: meaning }, `delivery ${kept}`),
    ),
  );
}

function when(session) {
  const at = session.state === "live" ? session.startedMs : session.endedMs;
  return at === null ? "" : moment(at);
}
