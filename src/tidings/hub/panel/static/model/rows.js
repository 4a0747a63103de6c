/* Reminders as the page lists them: what the session told, joined with what the hub holds for it. Pure.
 *
 * A row stands for one reminder and one session. While it is on its way only the hub knows it; once the
 * session has it, the session's own records say more. Without a session it is the hub's view of it, for all
 * sessions. `words.js` says its state in a sentence.
 */

import { Board, progress } from "./board.js";
import { ACTIVE } from "./reminder.js";

const ON_ITS_WAY = { waiting: "queued", leased: "queued", acknowledged: "delivered" };

export class Row {
  constructor(id, session, reminder, envelope) {
    this.id = id;
    this.session = session;
    this.reminder = reminder;
    this.envelope = envelope;
    this.delivery = envelope?.deliveries.get(session?.id) ?? null;
  }

  /** What the views key their drawing on: it changes whenever something that they show does. */
  get version() {
    return `${this.reminder?.version} ${this.envelope?.version}`;
  }

  /** Whether the session's own records know it. */
  get told() {
    return (
      this.reminder !== null &&
      (this.reminder.queued || this.reminder.injected || this.reminder.end !== null)
    );
  }

  get state() {
    if (this.told || this.envelope === null) return this.#told();
    if (this.session === null) return ON_ITS_WAY[progress(this.envelope)] ?? this.envelope.ended;
    return { expired: "expired", revoked: "revoked" }[this.delivery] ?? "queued";
  }

  /** What the session said of it; one that is only for the audit is never shown. */
  #told() {
    const { state } = this.reminder;
    return state === "pending" && this.mode === "audit_only" ? "audited" : state;
  }

  get active() {
    return ACTIVE.has(this.state);
  }

  /** Where it waits: at the hub, with the session's host, or in the mailbox; null when it does not wait. */
  get waitsAt() {
    if (this.state !== "queued") return null;
    if (this.told) return "mailbox";
    return { leased: "host", acknowledged: "mailbox" }[this.delivery] ?? "hub";
  }

  get firstMs() {
    return Math.min(this.reminder?.firstMs ?? Infinity, this.envelope?.acceptedMs || Infinity);
  }

  /** Its text; where only requests told of it, as it stood there. */
  get body() {
    const shown = this.reminder === null ? [] : [...this.reminder.shown.values()];
    const fragment = shown.findLast((one) => typeof one.fragment === "string")?.fragment;
    return this.reminder?.body ?? this.envelope?.reminder.body ?? fragment ?? null;
  }

  get tags() {
    return this.told && this.reminder.tags.length
      ? this.reminder.tags
      : (this.envelope?.reminder.tags ?? this.reminder?.tags ?? []);
  }

  get dedupeKey() {
    return this.#field("dedupeKey", "dedupe_key");
  }

  get ttlTurns() {
    return this.#field("ttlTurns", "ttl_turns");
  }

  get preserveOnCompact() {
    return this.#field("preserveOnCompact", "preserve_on_compact");
  }

  get propagate() {
    return this.#field("propagate", "propagate");
  }

  get roleHint() {
    return this.#field("roleHint", "role_hint");
  }

  get mode() {
    return this.reminder?.mode ?? this.envelope?.mode ?? null;
  }

  get source() {
    return this.reminder?.source ?? "bridge";
  }

  get origin() {
    return this.reminder?.origin ?? this.envelope?.origin ?? null;
  }

  get trust() {
    if (this.reminder?.trust) return this.reminder.trust;
    if (this.envelope === null) return null;
    return this.envelope.origin ? "external" : "host";
  }

  /** How many turns it has left; null where nobody tells of the turns that pass. */
  get turnsLeft() {
    if (!this.told) return this.active ? this.ttlTurns : null;
    return this.session.tellsTranscript ? this.reminder.turnsLeft(this.session.passedTurn) : null;
  }

  get turns() {
    return this.reminder?.turns ?? [];
  }

  /** Every record about it, the hub's and the session's, by time. */
  get history() {
    const told = (this.reminder?.history ?? []).map((one) => ({ ...one, by: one.stream }));
    const hub = (this.envelope?.history ?? []).map((one) => ({ ...one, by: "hub" }));
    return hub.length ? [...hub, ...told].sort((one, other) => one.atMs - other.atMs) : told;
  }

  #field(own, sent) {
    return this.reminder?.[own] ?? this.envelope?.reminder[sent] ?? null;
  }
}

/** What can be done about a reminder: "revoke", "clear", or null. `registration` is its session's. */
export function takenBack(row, registration) {
  const atHub = row.envelope !== null && Board.revocable(row.envelope) ? "revoke" : null;
  const { state, capabilities = {} } = registration ?? {};
  if (row.session === null || state !== "live") return atHub;
  const able = capabilities.withdraw === true;
  if (row.state === "queued") return able ? "revoke" : atHub;
  const stands = row.state === "pending" || row.state === "emitted";
  return stands && (able || capabilities.reach !== undefined) ? "clear" : atHub;
}

/** All reminders of a session, in the order in which they were first heard of. */
export function rowsOf(session, board) {
  const rows = session.order.map(
    (one) => new Row(one.id, session, one, board.envelopes.get(one.id) ?? null),
  );
  const known = rows.length;
  for (const envelope of board.box(session.id)) {
    if (!session.reminders.has(envelope.id)) rows.push(new Row(envelope.id, session, null, envelope));
  }
  return rows.length === known ? rows : rows.sort((one, other) => one.firstMs - other.firstMs);
}

/** The reminder of this id, for a session or as the hub alone knows it; null when nobody does. */
export function rowOf(id, session, board) {
  const reminder = session?.reminders.get(id) ?? null;
  const envelope = board.envelopes.get(id) ?? null;
  return reminder === null && envelope === null ? null : new Row(id, session, reminder, envelope);
}
