/* The transcript of the session: its turns in order, at the end what the next request will show.
 *
 * Arrow keys move from turn to turn. A reader at the end follows what comes; one who reads further up is
 * not moved.
 */

import { fill, h } from "../dom.js";
import { asks, matchesRow, matchesTurn } from "../model/filter.js";
import { counted, figure } from "../text.js";
import { Windowed } from "../windowed.js";
import { turnElement } from "./turn.js";

/** Make the view; `draw` shows the session as it is. */
export function transcript(root, app) {
  const scroller = h("div", {
    class: "scroll transcript",
    role: "feed",
    tabindex: "0",
    "aria-label": "Transcript",
  });
  const latest = h(
    "button",
    { type: "button", class: "latest", hidden: true, onclick: () => list.toEnd() },
    "Newest",
  );
  const earlier = h("p", { class: "earlier" });
  scroller.append(earlier);
  fill(root, scroller, latest);
  let [marks, drawn] = ["", null];
  const list = new Windowed(scroller, {
    key: (turn) => turn.key,
    version: (turn) => `${turn.version} ${marks}`,
    draw: (turn) => turnElement(turn, app, drawn),
    estimate: 120,
    follow: true,
    role: "presentation",
  });
  scroller.addEventListener("keydown", (event) => move(event, list));
  scroller.addEventListener("scroll", () => (latest.hidden = list.atEnd), { passive: true });

  function draw() {
    const { filter, session } = app;
    drawn = session;
    const rows = app.rows();
    const matching = new Set(rows.filter((row) => matchesRow(row, filter)).map((row) => row.id));
    const wanted = asks(filter);
    marks = JSON.stringify([filter, app.place.open]);
    const turns = wanted
      ? session.turns.items.filter((turn) => matchesTurn(turn, filter, matching))
      : session.turns.items;
    const last = nextTurn(rows, session, wanted ? matching : null);
    list.show(last === null ? [...turns] : [...turns, last]);
    latest.hidden = list.atEnd;
    drawEarlier(earlier, app, turns.length);
  }

  return { draw, focus: () => scroller.focus(), toEnd: () => list.toEnd() };
}

/**
 * What the next request will show, as an entry behind the last turn; null when a filter finds nothing in
 * it.
 */
function nextTurn(rows, session, matching) {
  const found = rows.filter((row) => row.active && (matching === null || matching.has(row.id)));
  if (matching !== null && found.length === 0) return null;
  const words = matching === null ? [...session.waitingWords.values()] : [];
  const version = JSON.stringify([
    found.map((row) => [row.id, row.version, row.delivery]),
    session.passedTurn,
    words.length,
  ]);
  return { key: "next", kind: "next", number: Infinity, atMs: 0, version, rows: found, words };
}

/**
 * What stands before the first turn: a problem, how much is not loaded, how much matches, or the
 * beginning.
 */
function drawEarlier(root, app, shown) {
  const { following, filter } = app;
  const gone = following.missed
    ? `${counted(following.missed, "record")} left the hub before this page read them. `
    : "";
  fill(root, gone, before(following, app) ?? matchText(filter, shown, app.session.turns.items.length));
}

function before(following, app) {
  if (following.problem) return [following.problem, " ", button("Try again", () => app.retry())];
  if (!following.more) return null;
  const count = counted(following.first - following.earliest, "earlier record");
  return [`${count} not loaded. `, button("Load more", () => following.earlier())];
}

function matchText(filter, shown, all) {
  if (!asks(filter))
    return all === 0 ? "Nothing was told of this session yet." : "The beginning of the session.";
  return shown === 0 ? "No turn matches the filter." : `${counted(shown, "turn")} of ${figure(all)} match.`;
}

function button(text, onclick) {
  return h("button", { type: "button", class: "link", "data-key": text, onclick }, text);
}

function move(event, list) {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("textarea, input, select") !== null) return;
  const here = document.activeElement.closest("article.turn");
  const at = list.items.findIndex((turn) => turn.key === here?.windowKey);
  const first = list.items.findIndex((turn) => list.element(list.items.indexOf(turn)) !== null);
  const next = at < 0 ? first : Math.min(list.items.length - 1, Math.max(0, at + step));
  if (next < 0) return;
  event.preventDefault();
  list.reveal(next)?.focus({ preventScroll: true });
}
