/* The timeline: one line for each reminder, from its first record to its last, with a mark for each
 * record, by turn or by time; above it how much happened when. Only the visible lines are drawn.
 */

import { badge, fill, h, s } from "../dom.js";
import { Choosing } from "../choosing.js";
import { asks, matchesRow } from "../model/filter.js";
import { density, scaleOf } from "../model/scale.js";
import { reasonOf, said, shortKind } from "../model/words.js";
import { clock, counted } from "../text.js";
import { Windowed } from "../windowed.js";
import { brief } from "./note.js";

const BINS = 96;
const RANGES = {
  turn: [
    ["", "All turns"],
    ["10", "Last 10"],
    ["50", "Last 50"],
    ["250", "Last 250"],
  ],
  time: [
    ["", "All the time"],
    ["60000", "Last minute"],
    ["600000", "Last 10 minutes"],
    ["3600000", "Last hour"],
  ],
};
const MARKS = {
  "transcript.reminder.queued": "queued",
  "hub.reminder.accepted": "queued",
  "transcript.reminder.injected": "pending",
  "transcript.reminder.inherited": "pending",
  "transcript.reminder.fired": "emitted",
  "transcript.reminder.deduped": "replaced",
  "transcript.reminder.expired": "expired",
  "transcript.reminder.revoked": "revoked",
  "hub.reminder.revoked": "revoked",
  "hub.reminder.expired": "expired",
  "transcript.reminder.dropped": "dropped",
  "transcript.audited": "audited",
};
const SHOWN_MOST = 400;

/** Make the view; `draw` shows the session as it is. */
export function timeline(root, app) {
  let [by, last] = ["turn", ""];
  const choose = h(
    "select",
    { "aria-label": "Axis", onchange: () => axis(choose.value, "") },
    option("turn", "By turn"),
    option("time", "By time"),
  );
  const range = h("select", { "aria-label": "Range", onchange: () => axis(by, range.value) });
  const found = h("span", {});
  const overview = h("div", { class: "overview" });
  const scroller = h("div", { class: "scroll lines" });
  fill(root, h("div", { class: "found" }, choose, range, found), overview, scroller);
  let scale = null;
  const list = new Windowed(scroller, {
    key: (row) => row.id,
    version: (row) => `${row.version} ${scale.key} ${app.filter.kind}`,
    draw: (row) => choosing.dress(lineOf(row, scale, app.filter.kind), row),
    estimate: 28,
  });
  const open = (row) => app.go({ open: row.id }, app.place.open !== null);
  const choosing = new Choosing(list, {
    label: "Timeline",
    chosen: (row) => row.id === app.place.open,
    choose: open,
    moved: (row) => app.place.open !== null && open(row),
  });

  function axis(nextBy, nextLast) {
    [by, last] = [nextBy, nextLast];
    fill(
      range,
      RANGES[by].map(([value, text]) => option(value, text)),
    );
    range.value = last;
    draw();
  }

  function draw() {
    const { records } = app.session;
    scale = scaleOf(app.session, by, Number(last));
    const rows = app
      .rows()
      .filter((row) => matchesRow(row, app.filter) && reaches(row, scale))
      .reverse();
    fill(overview, h("div", { class: "lead" }, "Records"), lane(bars(records, scale), scale));
    list.show(rows);
    choosing.refresh();
    found.textContent =
      rows.length === 0
        ? asks(app.filter)
          ? "No reminder matches the filter."
          : "No reminder in this range."
        : counted(rows.length, "reminder");
  }

  fill(
    range,
    RANGES.turn.map(([value, text]) => option(value, text)),
  );
  return { draw, focus: () => scroller.focus() };
}

function option(value, text) {
  return h("option", { value }, text);
}

function reaches(row, scale) {
  const end = row.reminder?.history.at(-1);
  return end === undefined || row.active || scale.place(end) >= 0;
}

function lane(drawn, scale) {
  const ticks = scale.ticks();
  const lines = ticks.map(([at]) =>
    s("line", { x1: `${at}%`, x2: `${at}%`, y1: 0, y2: "100%", class: "tick" }),
  );
  const labels = ticks.map(([at, text]) => s("text", { x: `${at}%`, y: 52, class: "tick-text" }, text));
  return s(
    "svg",
    { class: "density", role: "img", "aria-label": "How many records when" },
    lines,
    drawn,
    labels,
  );
}

function bars(records, scale) {
  const counts = density(records, scale, BINS);
  const most = Math.max(1, ...counts);
  return counts.map((count, at) => {
    const height = count === 0 ? 0 : Math.max(1.5, (count / most) * 34);
    return s("rect", {
      x: `${(at / BINS) * 100}%`,
      y: 38 - height,
      width: `${90 / BINS}%`,
      height,
      class: "bar",
    });
  });
}

function lineOf(row, scale, kind) {
  const history = row.reminder?.history ?? [];
  const marks = history.filter((record) => record.kind in MARKS && (!kind || record.kind === kind));
  const places = marks.map((record) => [Math.max(0, scale.place(record)), record]).slice(-SHOWN_MOST);
  const ends = history.map((record) => Math.max(0, scale.place(record)));
  const from = Math.min(...ends, 100);
  const to = row.active ? 100 : Math.max(...ends, from);
  const drawn = s(
    "svg",
    { class: "life", "aria-hidden": "true" },
    s("line", { x1: `${from}%`, x2: `${to}%`, y1: 13, y2: 13, class: `life-line is-${row.state}` }),
    places.map(([at, record]) => mark(at, record)),
  );
  return h(
    "div",
    { class: `lifeline is-${row.state}`, title: reasonOf(row), "data-reminder": row.id },
    h("div", { class: "lead" }, badge(row.state), h("span", { class: "body", dir: "auto" }, brief(row))),
    drawn,
  );
}

function mark(at, record) {
  const title = s("title", {}, `${clock(record.atMs)} ${shortKind(record.kind)}: ${said(record)}`);
  return s("circle", { cx: `${at}%`, cy: 13, r: 4, class: `event is-${MARKS[record.kind]}` }, title);
}
