/* A session as its told records say: turns, reminders with their states, notes. A pure fold.
 *
 * `apply` takes one record `{cursor, stream, kind, atMs, payload}` and costs the same however many there
 * were. The streams (transcript, lifecycle, requests) need not be in step with one another. Kinds that
 * are not known here change nothing but are listed; a record that cannot be read is listed with its
 * problem. `following.js` feeds it; the views read it.
 */

import { Reminder } from "./reminder.js";
import { checkedTurn, isTurn, nameOf, STEPS } from "./steps.js";
import { Turns } from "./turns.js";

export class Session {
  constructor(id) {
    this.id = id;
    this.records = [];
    this.cursor = 0;
    this.version = 0;
    this.turns = new Turns();
    this.reminders = new Map();
    this.order = [];
    this.notes = [];
    this.kinds = new Map();
    this.tags = new Map();
    this.sources = new Map();
    this.shownTurn = 0;
    this.passedTurn = 0;
    this.answeredMs = [];
    this.epoch = null;
    this.tellsTranscript = false;
    this.startsInside = false;
    this.waitingWords = new Map();
    this.events = new Map();
    this.calls = new Map();
  }

  /** Take in one record. */
  apply(record) {
    if (this.records.length === 0) this.startsInside = record.cursor > 1;
    if (record.epoch && record.epoch !== this.epoch) this.#begin(record);
    record.reminderIds = [];
    this.records.push(record);
    this.cursor = record.cursor;
    this.tellsTranscript ||= record.stream === "transcript";
    this.version += 1;
    count(this.kinds, record.kind);
    try {
      STEPS[record.kind]?.(this, record.payload, record);
    } catch (error) {
      record.problem = String(error);
      this.notes.push(record);
    }
  }

  /** The turn of this number. */
  turn(number, record) {
    const turn = this.turns.at(checkedTurn(number, record), record.atMs);
    turn.version += 1;
    return turn;
  }

  /**
   * Where a record stands among the turns: at its own, before the first that shows it, behind the last,
   * between.
   */
  place(record) {
    const {
      turn_number: shown,
      turn = shown,
      expired_at_turn: over,
      fired_at_turn: first,
    } = record.payload;
    if (isTurn(turn)) return turn;
    if (isTurn(first)) return Math.max(1, first) - 0.25;
    return isTurn(over) ? over + 0.25 : this.#answeredBefore(record.atMs) + 0.5;
  }

  /** The last turn that was answered before a time. */
  #answeredBefore(atMs) {
    let [low, high] = [0, this.answeredMs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.answeredMs[middle].atMs <= atMs) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : this.answeredMs[low - 1].turn;
  }

  /** The reminder of this id, with `record` added to its history. */
  reminder(id, record) {
    if (id === undefined || id === null) throw new TypeError(`${record.kind} names no reminder`);
    const name = nameOf(id);
    let found = this.reminders.get(name);
    if (found === undefined) {
      found = new Reminder(name, record.atMs);
      this.reminders.set(name, found);
      this.order.push(found);
    }
    found.version += 1;
    found.lastMs = record.atMs;
    found.kinds.add(record.kind);
    found.history.push(record);
    record.reminderIds.push(name);
    return found;
  }

  /** The reminder of this id with fields from `payload`; tags and sources are counted once. */
  described(id, payload, record) {
    const found = this.reminder(id, record);
    const [tags, source] = [found.tags, found.source];
    found.take(payload);
    for (const tag of found.tags) if (!tags.includes(tag)) count(this.tags, tag);
    if (found.source !== source) count(this.sources, found.source);
    return found;
  }

  /** Redraw the turns that show `reminder`. */
  touchTurns(reminder) {
    for (const shown of reminder.shown.values()) shown.of.version += 1;
  }

  finish(id, end, record) {
    const found = this.reminder(id, record);
    found.finish({ ...end, atMs: record.atMs });
    this.touchTurns(found);
  }

  /** Another log begins. A teller without a transcript goes on counting; one with it counts anew. */
  #begin(record) {
    if (this.epoch !== null && this.tellsTranscript) this.startOver(record.atMs, "another log");
    this.epoch = record.epoch;
  }

  startOver(atMs, why) {
    if (this.turns.items.length > 0) this.turns.divide("restart", this.shownTurn + 1, atMs, { why });
    this.turns.startOver(atMs);
    [this.shownTurn, this.passedTurn] = [0, 0];
  }
}

function count(counts, name) {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
