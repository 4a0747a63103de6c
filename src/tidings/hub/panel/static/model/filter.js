/* What the reader looks for: a text, a tag, a source, a state, a kind of record. Pure.
 *
 * A filter is a plain value; a part that is "" asks for nothing. Reminders, turns and records are
 * matched with the same one, so that every tab shows the same choice.
 */

import { ACTIVE } from "./reminder.js";
import { wordsOf } from "./turns.js";

export const NOTHING = Object.freeze({ text: "", tag: "", source: "", state: "", kind: "" });

/** Records that say nothing happened are left out unless their kind is asked for. */
export const QUIET = "transcript.reminder.provider_evaluated";

/** Whether anything is asked for. */
export function asks(filter) {
  return Object.values(filter).some(Boolean);
}

/** How many parts beside the text are set. */
export function parts(filter) {
  return ["tag", "source", "state", "kind"].filter((name) => filter[name]).length;
}

/** Whether a reminder is looked for. */
export function matchesRow(row, filter) {
  if (filter.tag && !row.tags.includes(filter.tag)) return false;
  if (filter.source && row.source !== filter.source) return false;
  if (filter.state && !inState(row, filter.state)) return false;
  if (filter.kind && !row.reminder?.kinds.has(filter.kind)) return false;
  return !filter.text || hay(row).includes(filter.text.toLowerCase());
}

function inState(row, state) {
  return state === "active" ? ACTIVE.has(row.state) : row.state === state;
}

function hay(row) {
  const parts = [row.body, row.id, row.dedupeKey, row.source, row.origin, row.trust, ...row.tags];
  return parts.filter(Boolean).join("\n").toLowerCase();
}

/**
 * Whether a turn is looked for: by its words, or by a reminder that it showed; `matching` holds their
 * ids.
 */
export function matchesTurn(turn, filter, matching) {
  if (turn.kind !== "turn") return !asks(filter);
  if (turn.reminders.some((one) => matching.has(one.id))) return true;
  return filter.text !== "" && parts(filter) === 0 && turnHay(turn).includes(filter.text.toLowerCase());
}

function turnHay(turn) {
  const words = turn.inputs.map((one) => wordsOf(one.message?.content));
  for (const one of turn.results.values()) words.push(wordsOf(one.message.content));
  for (const one of turn.loose) words.push(wordsOf(one.content));
  if (turn.answer) words.push(wordsOf(turn.answer.content), JSON.stringify(turn.answer.tool_calls ?? ""));
  return words.join("\n").toLowerCase();
}

/** Whether a record is looked for; `matching` holds the ids of the reminders that are. */
export function matchesRecord(record, filter, matching) {
  if (filter.kind ? record.kind !== filter.kind : record.kind === QUIET && !record.payload.fired)
    return false;
  if (filter.tag || filter.source || filter.state) {
    if (!record.reminderIds.some((id) => matching.has(id))) return false;
  }
  if (!filter.text) return true;
  if (record.reminderIds.some((id) => matching.has(id))) return true;
  record.hay ??= `${record.kind}\n${JSON.stringify(record.payload)}`.toLowerCase();
  return record.hay.includes(filter.text.toLowerCase());
}
