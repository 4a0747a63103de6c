/* A reminder in small: the card beside a turn, and the same as an entry of a list. */

import { badge, h, line, tagList } from "../dom.js";
import { reasonOf } from "../model/words.js";
import { counted, oneLine, shortId } from "../text.js";

const BRIEF = 220;

/** A card that opens the reminder; a line of it where an earlier turn showed it already. */
export function note(row, app, again = false) {
  const open = app.place.open === row.id;
  const body = h("span", { class: "body", dir: "auto" }, brief(row));
  const around = [
    h("span", { class: "head" }, badge(row.state), aside(row)),
    body,
    h("span", { class: "foot" }, sender(row), tagList(row.tags, 3)),
  ];
  return h(
    "button",
    {
      type: "button",
      class: `note is-${row.state}${again ? " again" : ""}${open ? " open" : ""}`,
      title: reasonOf(row),
      "data-reminder": row.id,
      "data-key": `note ${row.id}`,
      onclick: () => app.go({ open: open ? null : row.id }),
    },
    again ? [badge(row.state), body] : around,
  );
}

/** What stands at the end of a card's first line: the turns it has left, or where it waits. */
export function aside(row) {
  if (row.state === "queued")
    return h(
      "span",
      { class: "aside" },
      { hub: "at the hub", host: "with its host" }[row.waitsAt] ?? row.mode ?? "",
    );
  return row.turnsLeft === null
    ? null
    : h("span", { class: "aside" }, `${counted(row.turnsLeft, "turn")} left`);
}

/** The first words of a reminder. */
export function brief(row) {
  if (row.body === null) return h("em", {}, `${shortId(row.id)}: its text was not told`);
  const text = oneLine(row.body.slice(0, 4 * BRIEF));
  return text.length > BRIEF ? `${text.slice(0, BRIEF)}…` : text;
}

/** Who sent it. */
export function sender(row) {
  const who = row.origin ?? row.reminder?.providerId ?? row.source ?? "unknown";
  return h(
    "span",
    { class: `sender trust-${row.trust}` },
    line(who),
    row.trust === "external" ? " · external" : null,
  );
}
