/* All reminders of the session in one list, newest first: state, words, who sent it, its reason. */

import { badge, fill, h, tagList } from "../dom.js";
import { Choosing } from "../choosing.js";
import { asks, matchesRow } from "../model/filter.js";
import { reasonOf } from "../model/words.js";
import { clock, counted, figure } from "../text.js";
import { Windowed } from "../windowed.js";
import { brief, sender } from "./note.js";

/** Make the view; `draw` shows the session as it is. */
export function reminders(root, app) {
  const scroller = h("div", { class: "scroll reminders" });
  const found = h("p", { class: "found" });
  fill(root, found, scroller);
  const list = new Windowed(scroller, {
    key: (row) => row.id,
    version: (row) => `${row.version} ${row.delivery} ${row.turnsLeft}`,
    draw: (row) => choosing.dress(option(row), row),
    estimate: 66,
  });
  const open = (row) => app.go({ open: row.id }, app.place.open !== null);
  const choosing = new Choosing(list, {
    label: "Reminders",
    chosen: (row) => row.id === app.place.open,
    choose: open,
    moved: (row) => app.place.open !== null && open(row),
  });

  function draw() {
    const all = app.rows();
    const rows = all.filter((row) => matchesRow(row, app.filter)).reverse();
    list.show(rows);
    choosing.refresh();
    fill(found, foundText(all, rows, app));
  }

  return { draw, focus: () => scroller.focus() };
}

function foundText(all, rows, app) {
  if (all.length === 0)
    return app.following.loading ? "Loading." : "No reminder has reached this session yet.";
  const active = all.filter((row) => row.active).length;
  if (asks(app.filter))
    return rows.length === 0
      ? "No reminder matches the filter."
      : `${figure(rows.length)} of ${counted(all.length, "reminder")} match.`;
  return `${counted(all.length, "reminder")}, ${figure(active)} active.`;
}

function option(row) {
  return h(
    "div",
    { class: `reminder is-${row.state}`, "data-reminder": row.id },
    h("div", { class: "top" }, badge(row.state), h("span", { class: "body", dir: "auto" }, brief(row))),
    h(
      "div",
      { class: "under" },
      h("time", {}, clock(row.firstMs)),
      h("span", { class: "reason" }, reasonOf(row)),
      h("span", { class: "apart" }, sender(row), tagList(row.tags, 3)),
    ),
  );
}
