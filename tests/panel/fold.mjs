/* Folds what stdin holds with the panel's own modules and prints the result; test_model.py runs it under node. */

import { readFileSync } from "node:fs";

import { Board, progress } from "./model/board.js";
import { matchesRow } from "./model/filter.js";
import { rowsOf } from "./model/rows.js";
import { Session } from "./model/session.js";
import { wordsOf } from "./model/turns.js";
import { OUTCOMES, reasonOf, said } from "./model/words.js";
import { beginning, counted, oneLine, ranges, span, visible } from "./text.js";

const DOES = { session, board, takeback, text };
const { does, ...given } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(DOES[does](given)));

function session({ records, hub = [], filter = null }) {
  const [folded, board] = [new Session("s1"), new Board()];
  for (const record of records) folded.apply(record);
  for (const record of hub) board.apply(record);
  const rows = rowsOf(folded, board).filter((row) => filter === null || matchesRow(row, filter));
  return { turns: folded.turns.items.map(turn), reminders: rows.map(reminder), notes: folded.notes.length };
}

function turn(one) {
  if (one.kind !== "turn") return { kind: one.kind, behind: one.number - 0.5 };
  return {
    turn: one.number,
    said: one.inputs.map((input) => wordsOf(input.message.content)),
    answer: one.answer === null ? null : wordsOf(one.answer.content),
    calls: (one.answer?.tool_calls ?? []).map((call) => [call.name, one.results.get(call.id)?.message.content]),
    showed: one.reminders.map((each) => each.id),
    route: one.request?.route ?? null,
  };
}

function reminder(row) {
  const shown = [...(row.reminder?.shown.values() ?? [])];
  return {
    id: row.id,
    state: row.state,
    reason: reasonOf(row),
    body: row.body,
    trust: row.trust,
    left: row.turnsLeft,
    places: shown.map((one) => [one.turn, one.role, one.path, one.fragment]),
  };
}

function board({ records, sessions = [], reminders = [] }) {
  const folded = new Board();
  folded.listSessions(sessions);
  folded.listEnvelopes(reminders);
  for (const record of records) folded.apply(record);
  const envelopes = [...folded.envelopes.values()];
  return {
    waiting: folded.waiting,
    sessions: [...folded.sessions.values()].map((one) => [one.id, one.state, folded.waitingFor(one.id)]),
    envelopes: envelopes.map((one) => [one.id, progress(one), Board.revocable(one), folded.finished.has(one.id)]),
  };
}

function takeback({ records }) {
  const folded = new Board();
  for (const record of records) folded.apply(record);
  const envelopes = [...folded.envelopes.values()];
  return {
    deliveries: envelopes.map((one) => Object.fromEntries(one.deliveries)),
    histories: envelopes.map((one) => one.history.map(said)),
    questions: folded.questions.size,
    outcomes: Object.keys(OUTCOMES),
  };
}

function text({ visibles = [], lines = [], beginnings = [], rangeLists = [], spans = [], counts = [] }) {
  return {
    visibles: visibles.map(visible),
    lines: lines.map(oneLine),
    beginnings: beginnings.map((one) => beginning(...one)),
    ranges: rangeLists.map(ranges),
    spans: spans.map(span),
    counts: counts.map((one) => counted(...one)),
  };
}
