/* The records of the session as they were told: time, stream, kind and what it says; choosing one opens
 * it whole.
 */

import { fill, h } from "../dom.js";
import { Choosing } from "../choosing.js";
import { asks, matchesRecord, matchesRow } from "../model/filter.js";
import { said, shortKind } from "../model/words.js";
import { wordsOf } from "../model/turns.js";
import { clock, counted, figure, oneLine } from "../text.js";
import { Windowed } from "../windowed.js";

const WORDS = 200;

/** Make the view; `draw` shows the session as it is. */
export function records(root, app) {
  const scroller = h("div", { class: "scroll records" });
  const found = h("p", { class: "found" });
  fill(root, found, scroller);
  const list = new Windowed(scroller, {
    key: (record) => String(record.cursor),
    version: () => 0,
    draw: (record) => choosing.dress(option(record, app), record),
    estimate: 27,
    follow: true,
  });
  const open = (record) => app.go({ open: String(record.cursor) }, app.place.open !== null);
  const choosing = new Choosing(list, {
    label: "Records",
    chosen: (record) => String(record.cursor) === app.place.open,
    choose: open,
    moved: (record) => app.place.open !== null && open(record),
  });

  function draw() {
    const { filter, session } = app;
    const matching = new Set(
      app
        .rows()
        .filter((row) => matchesRow(row, filter))
        .map((row) => row.id),
    );
    const shown = session.records.filter((record) => matchesRecord(record, filter, matching));
    list.show(shown);
    choosing.refresh();
    fill(found, foundText(session.records.length, shown.length, filter));
  }

  return { draw, focus: () => scroller.focus() };
}

function foundText(all, shown, filter) {
  if (all === 0) return "Nothing was told of this session yet.";
  if (shown === all) return `${counted(all, "record")}.`;
  const why = asks(filter) ? "match" : "shown; the others say that a provider had nothing to say";
  return `${figure(shown)} of ${counted(all, "record")} ${why}.`;
}

/** The words that a record is about: of a message, or of the only reminder it names. */
function about(record, app) {
  const { message } = record.payload;
  if (message) return oneLine(wordsOf(message.content).slice(0, WORDS)) || callsOf(message);
  const row = record.reminderIds.length === 1 ? app.row(record.reminderIds[0]) : null;
  return row?.body ? oneLine(row.body.slice(0, WORDS)) : "";
}

function callsOf(message) {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  return calls.map((call) => oneLine(call?.name ?? "tool")).join(", ");
}

function option(record, app) {
  return h(
    "div",
    { class: `record of-${record.stream}` },
    h("time", {}, clock(record.atMs)),
    h("span", { class: "stream" }, record.stream),
    h("bdi", { class: "kind" }, shortKind(record.kind)),
    h("span", { class: "says" }, said(record), " ", h("bdi", {}, about(record, app))),
  );
}
