/* What is open, at the right: a reminder, or a record as it was told. It is drawn anew when it changes,
 * with the focus and the scroll position where they were.
 */

import { facts, fill, h, json, line } from "../dom.js";
import { said, shortKind } from "../model/words.js";
import { moment, shortId } from "../text.js";
import { reminder } from "./reminder.js";

/** Draw what is open; `does` holds what its buttons do: revoke, clearOne, say. */
export function detail(root, app, does) {
  let shown = null;

  function draw() {
    const { view, sessionId, tab, open } = app.place;
    const isRecord = view === "sessions" && tab === "records";
    const wanted =
      app.signedIn && open !== null && (view === "queue" || (view === "sessions" && sessionId !== null));
    const found = !wanted ? null : isRecord ? recordOf(app, Number(open)) : app.row(open);
    root.hidden = !wanted;
    document.body.classList.toggle("detailed", !root.hidden);
    const mark =
      wanted &&
      JSON.stringify([
        open,
        view,
        tab,
        found?.version ?? found?.cursor ?? null,
        app.session?.passedTurn,
        found?.delivery,
        app.registration?.state,
      ]);
    if (mark === shown) return;
    shown = mark;
    if (!wanted) {
      fill(root);
      return;
    }
    const top = root.firstElementChild?.scrollTop ?? 0;
    const close = h(
      "button",
      {
        type: "button",
        class: "plain close",
        "data-key": "close",
        "aria-label": "Close",
        onclick: () => app.go({ open: null }),
      },
      "Close",
    );
    const inside =
      found === null ? missing(app) : isRecord ? record(found, app) : reminder(found, app, does);
    const head = h("div", { class: "detail-head" }, h("h2", {}, isRecord ? "Record" : "Reminder"), close);
    fill(root, h("div", { class: "scroll" }, head, inside));
    root.firstElementChild.scrollTop = top;
  }

  app.on(["place", "session", "board", "sign-in"], draw);
}

function missing(app) {
  return h(
    "p",
    { class: "remark" },
    app.following?.loading
      ? "Loading."
      : "Nothing of it is loaded: it may be older than the records on this page.",
  );
}

function recordOf(app, cursor) {
  const { records } = app.session ?? { records: [] };
  const at = records.length === 0 ? -1 : cursor - records[0].cursor;
  return records[at]?.cursor === cursor
    ? records[at]
    : (records.find((one) => one.cursor === cursor) ?? null);
}

function record(one, app) {
  const links = one.reminderIds.map((id) =>
    h(
      "button",
      { type: "button", class: "link", onclick: () => app.go({ tab: "reminders", open: id }) },
      shortId(id),
    ),
  );
  return [
    h("p", { class: "reason" }, said(one) || shortKind(one.kind)),
    facts([
      ["Kind", line(one.kind, { class: "mono" })],
      ["Time", moment(one.atMs)],
      ["Stream", `${one.stream} ${one.seq ?? ""}`],
      ["At the hub", `record ${one.cursor}`],
      ["Reminders", links.length ? h("span", { class: "links" }, links.slice(0, 20)) : null],
    ]),
    h("h3", {}, "Payload"),
    json(one.payload, `record ${one.cursor}`),
  ];
}
