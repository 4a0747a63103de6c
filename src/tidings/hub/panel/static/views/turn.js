/* One turn of the transcript: the words that led to it, the answer, tool calls with their results; and
 * beside them the reminders that its request showed. Also what stands between turns.
 */

import { disclosure, h, line, words } from "../dom.js";
import { rowOf } from "../model/rows.js";
import { wordsOf } from "../model/turns.js";
import { clock, counted, oneLine } from "../text.js";
import { note } from "./note.js";

const ARGUMENTS = 160;
const KEPT = 40;
const ROLES = ["user", "assistant", "system", "tool"];

/** A turn of `session`, or a divider, as an article. */
export function turnElement(turn, app, session) {
  return (DRAWN[turn.kind] ?? answered)(turn, app, session);
}

function answered(turn, app, session) {
  const main = h(
    "div",
    { class: "said" },
    turn.inputs.map((one, at) => message(one, `${turn.key} in ${at}`)),
    loose(turn),
    answer(turn),
  );
  const rows = turn.reminders.map((one) => rowOf(one.id, session, app.board));
  const notes = rows.map((row) => note(row, app, row.reminder.shown.keys().next().value !== turn.key));
  return frame(turn, label(turn), main, beside(notes, shownText(turn, rows), turn.request?.route));
}

function frame(turn, title, main, margin) {
  const id = `turn-${turn.key}`;
  const head = h(
    "header",
    { class: "stamp" },
    h("h3", { id }, title),
    turn.atMs ? h("time", {}, clock(turn.answeredMs ?? turn.atMs)) : null,
  );
  return h(
    "article",
    { class: `turn ${turn.kind}`, tabindex: "-1", "aria-labelledby": id, "data-key": turn.key },
    head,
    main,
    margin,
  );
}

function label(turn) {
  return turn.number === 0 ? "Earlier" : `Turn ${turn.number}`;
}

function shownText(turn, rows) {
  if (rows.length > 0) return `showed ${counted(rows.length, "reminder")}`;
  return turn.answer === null ? null : "showed no reminder";
}

function beside(notes, text, route = null) {
  return h(
    "div",
    { class: "margin" },
    text ? h("p", { class: "margin-text", title: route }, text) : null,
    notes,
  );
}

function message({ role, message: said }, key) {
  const known = ROLES.includes(role) ? role : "other";
  return h(
    "section",
    { class: `message ${known}` },
    h("h4", {}, line(role)),
    words(wordsOf(said?.content), key),
  );
}

function answer(turn) {
  if (turn.answer === null) return null;
  const text = wordsOf(turn.answer.content);
  const calls = (turn.answer.tool_calls ?? []).map((call) => tool(call, turn));
  return h(
    "section",
    { class: "message assistant" },
    h("h4", {}, "assistant"),
    text.trim() ? words(text, `${turn.key} out`) : null,
    calls,
    skipped(turn),
  );
}

function skipped(turn) {
  return turn.skipped
    ? h("p", { class: "remark" }, "A reminder came before the tools ran: the calls were skipped.")
    : null;
}

function tool(call, turn) {
  const found = turn.results.get(call.id);
  const failed = found?.message.is_error === true;
  const given = JSON.stringify(call.arguments ?? {});
  const head = [
    h("b", {}, oneLine(call.name ?? "tool")),
    h(
      "bdi",
      { class: "arguments" },
      oneLine(given.slice(0, ARGUMENTS)),
      given.length > ARGUMENTS ? "…" : null,
    ),
  ];
  const state = found === undefined ? "running" : failed ? "failed" : resultText(found.message);
  const inside = () =>
    h(
      "div",
      { class: "inside" },
      given.length > ARGUMENTS
        ? words(JSON.stringify(call.arguments, null, 2), `${turn.key} ${call.id} arguments`, {
            class: "code",
          })
        : null,
      found
        ? words(wordsOf(found.message.content), `${turn.key} ${call.id} result`, { class: "code" })
        : h("p", { class: "remark" }, "No result yet."),
    );
  const summary = h("span", { class: "call" }, head, h("span", { class: "state" }, state));
  return disclosure(`${turn.key} ${call.id}`, summary, inside, { class: `tool${failed ? " failed" : ""}` });
}

function resultText(message) {
  const text = oneLine(wordsOf(message.content).slice(0, 300));
  return h("bdi", {}, text.length > 80 ? `${text.slice(0, 80)}…` : text || "(nothing)");
}

function loose(turn) {
  return turn.loose.map((one, at) =>
    h(
      "section",
      { class: "message tool" },
      h("h4", {}, "result of ", line(one.name ?? "a tool")),
      words(wordsOf(one.content), `${turn.key} loose ${at}`, { class: "code" }),
    ),
  );
}

function snapshot(turn) {
  const kept = turn.messages.slice(-KEPT);
  const inside = () =>
    h(
      "div",
      { class: "inside" },
      kept.map((one, at) => message({ role: one.role ?? "user", message: one }, `${turn.key} ${at}`)),
    );
  const text = `The transcript was written anew: ${counted(turn.messages.length, "message")}`;
  const left = turn.messages.length > KEPT ? `, the last ${KEPT} here` : "";
  return frame(
    { ...turn, kind: "divider" },
    "Snapshot",
    h("div", { class: "said" }, disclosure(turn.key, text + left, inside)),
    null,
  );
}

function restart(turn) {
  return frame(
    { ...turn, kind: "divider" },
    "New start",
    h("p", { class: "said remark" }, `Turns count from 1 again: ${turn.why}.`),
    null,
  );
}

/** What the next request will show, and what waits to be let in. */
function next(turn, app) {
  const [pending, queued] = [
    turn.rows.filter((row) => row.state !== "queued"),
    turn.rows.filter((row) => row.state === "queued"),
  ];
  const waiting = turn.words.map((one) => message({ role: "user", message: one }, `waiting ${one.id}`));
  const main = h("div", { class: "said" }, h("p", { class: "remark" }, nextText(pending, queued)), waiting);
  return frame(
    turn,
    "Next request",
    main,
    beside(
      [...pending, ...queued].map((row) => note(row, app)),
      null,
    ),
  );
}

function nextText(pending, queued) {
  if (pending.length + queued.length === 0) return "Nothing is pending and nothing waits.";
  const shown = pending.length ? [`${counted(pending.length, "reminder")} will be shown`] : [];
  const waits = queued.length === 1 ? "waits" : "wait";
  const waiting = queued.length ? [`${counted(queued.length, "reminder")} ${waits} to be let in`] : [];
  return `${[...shown, ...waiting].join("; ")}.`;
}

const DRAWN = { snapshot, restart, next };
