/* What the hub holds: its sessions, and the reminders on their way, as the fold of its records. Pure.
 *
 * It starts from what the hub lists (`sessions`, `reminders`) and goes on with the records of its topic;
 * those may begin before the lists were made, so taking in a record twice does no harm. Finished
 * envelopes are kept for their history, the last `REMEMBERED` of them.
 */

export const REMEMBERED = 5_000;

const OPEN = new Set(["waiting", "leased"]);

export class Board {
  constructor() {
    this.sessions = new Map();
    this.envelopes = new Map();
    this.finished = new Set();
    this.waiting = 0;
    this.boxes = new Map();
    this.counts = new Map();
    this.questions = new Map();
    this.cursor = 0;
    this.version = 0;
  }

  /** Take over the list of sessions; those that the hub no longer lists go. */
  listSessions(rows) {
    this.sessions = new Map(rows.map((row) => [row.sessionId, sessionOf(row)]));
    this.version += 1;
  }

  /** Take over the list of what is on its way. */
  listEnvelopes(rows) {
    for (const row of rows) {
      const found = this.#envelope(row.reminderId);
      Object.assign(found, {
        reminder: row.reminder,
        mode: row.mode,
        to: row.to,
        origin: row.origin ?? found.origin,
        untilMs: row.deliverUntilMs,
      });
      for (const one of row.deliveries) this.#deliver(found, one.sessionId, one.state);
    }
    this.version += 1;
  }

  /** Take in one record of the hub's topic. */
  apply(record) {
    this.cursor = record.cursor;
    this.version += 1;
    STEPS[record.kind]?.(this, record.payload, record.occurred_at_ms, record);
  }

  /** How many reminders wait for a session, leased ones included. */
  waitingFor(sessionId) {
    return this.counts.get(sessionId) ?? 0;
  }

  /** The envelopes that had or have something for a session. */
  *box(sessionId) {
    for (const id of this.boxes.get(sessionId) ?? []) yield this.envelopes.get(id);
  }

  /** Whether something can still be taken back, as the hub decides it. */
  static revocable(envelope) {
    if (envelope.ended) return false;
    return envelope.to.session === undefined || (envelope.counts.waiting ?? 0) > 0;
  }

  accept(id, payload, atMs) {
    Object.assign(this.#envelope(id), {
      reminder: payload.reminder,
      mode: payload.mode,
      to: payload.to,
      origin: payload.origin ?? null,
      untilMs: payload.deliver_until_ms,
      acceptedMs: payload.accepted_at_ms || atMs,
    });
  }

  note(id, atMs, record) {
    const found = this.#envelope(id);
    found.history.push({ atMs, kind: record.kind, payload: record.payload, cursor: record.cursor });
    found.version += 1;
    return found;
  }

  deliver(id, sessionId, state) {
    this.#deliver(this.#envelope(id), sessionId, state);
  }

  end(id, state) {
    const found = this.#envelope(id);
    const before = progress(found);
    found.ended = state;
    for (const [name, one] of found.deliveries) if (one === "waiting") this.#move(found, name, state);
    this.#settle(found, before);
  }

  /** It goes to these sessions no more; what a host of theirs has only when it does not confirm it. */
  withhold(id, sessionIds) {
    const found = this.#envelope(id);
    for (const name of sessionIds) {
      if (found.deliveries.get(name) === "leased") found.withheld.add(name);
      else if (found.deliveries.get(name) === "waiting") this.#deliver(found, name, "revoked");
    }
  }

  /** A session was asked to take something back, or answered: part of the history of a reminder. */
  question(payload, atMs, record) {
    const { withdrawal_id: name } = payload;
    const id = payload.revoke ?? payload.clear?.id ?? this.questions.get(name);
    if (record.kind === "hub.withdrawal.asked") this.questions.set(name, id);
    else this.questions.delete(name);
    if (this.envelopes.has(id)) this.note(id, atMs, record);
  }

  join(payload, atMs) {
    const said = payload.capabilities?.delivery;
    const delivery = said === "transcript" || said === "request" ? said : "unknown";
    const row = sessionOf({
      ...payload,
      sessionId: payload.session_id,
      delivery,
      startedMs: payload.started_ms ?? atMs,
    });
    this.sessions.set(row.id, { ...row, records: this.sessions.get(row.id)?.records ?? 0 });
  }

  leave(payload, atMs) {
    const known = this.sessions.get(payload.session_id);
    if (known === undefined) return;
    versions += 1;
    const endedMs = payload.at_ms ?? atMs;
    this.sessions.set(known.id, { ...known, version: versions, state: "ended", endedMs });
  }

  #envelope(id) {
    let found = this.envelopes.get(id);
    if (found === undefined) {
      found = { id, version: 0, reminder: {}, mode: null, to: {}, origin: null, untilMs: 0, acceptedMs: 0 };
      Object.assign(found, { ended: null, deliveries: new Map(), counts: {}, history: [] });
      found.withheld = new Set();
      this.envelopes.set(id, found);
      this.waiting += 1;
    }
    return found;
  }

  #deliver(envelope, sessionId, state) {
    const before = progress(envelope);
    this.#move(envelope, sessionId, state);
    this.#settle(envelope, before);
  }

  #move(envelope, sessionId, state) {
    const old = envelope.deliveries.get(sessionId);
    if (old !== undefined) envelope.counts[old] -= 1;
    envelope.counts[state] = (envelope.counts[state] ?? 0) + 1;
    envelope.deliveries.set(sessionId, state);
    const change = Number(OPEN.has(state)) - Number(OPEN.has(old));
    this.counts.set(sessionId, this.waitingFor(sessionId) + change);
    if (!this.boxes.has(sessionId)) this.boxes.set(sessionId, new Set());
    this.boxes.get(sessionId).add(envelope.id);
  }

  /** Count `envelope` among the finished if nothing more will happen to it; the oldest of them may go. */
  #settle(envelope, before) {
    const open = OPEN.has(progress(envelope));
    this.waiting += Number(open) - Number(OPEN.has(before));
    if (open || !(envelope.ended || envelope.to.session !== undefined)) this.finished.delete(envelope.id);
    else this.finished.add(envelope.id);
    if (this.finished.size > REMEMBERED) this.#forget(this.finished.values().next().value);
  }

  #forget(id) {
    for (const name of this.envelopes.get(id).deliveries.keys()) this.boxes.get(name)?.delete(id);
    this.envelopes.delete(id);
    this.finished.delete(id);
  }
}

/** How far an envelope got: under way before done, done before ended. */
export function progress({ counts, ended }) {
  for (const state of ["leased", "waiting", "acknowledged"]) if (counts[state] > 0) return state;
  return ended ?? "waiting";
}

let versions = 0;

function sessionOf(row) {
  versions += 1;
  return {
    version: versions,
    id: row.sessionId,
    agent: row.agent ?? null,
    workspace: row.workspace ?? null,
    tags: row.tags ?? [],
    capabilities: row.capabilities ?? {},
    state: row.state ?? "live",
    startedMs: row.startedMs ?? null,
    endedMs: row.endedMs ?? null,
    records: row.records ?? 0,
    delivery: row.delivery ?? "unknown",
  };
}

const STEPS = {
  "hub.session.registered": (board, payload, atMs) => board.join(payload, atMs),
  "hub.session.left": (board, payload, atMs) => board.leave(payload, atMs),
  "hub.reminder.accepted": (board, payload, atMs, record) => {
    board.note(payload.reminder_id, atMs, record);
    board.accept(payload.reminder_id, payload, atMs);
  },
  "hub.reminder.addressed": (board, payload, atMs, record) => {
    const found = board.note(payload.reminder_id, atMs, record);
    for (const name of payload.session_ids) {
      if (!found.deliveries.has(name)) board.deliver(found.id, name, "waiting");
    }
  },
  "hub.reminder.leased": delivery(() => "leased"),
  "hub.reminder.returned": delivery((envelope, name) =>
    envelope.withheld.has(name) ? "revoked" : (envelope.ended ?? "waiting"),
  ),
  "hub.reminder.acknowledged": delivery(() => "acknowledged"),
  "hub.reminder.expired": ending("expired"),
  "hub.reminder.revoked": (board, payload, atMs, record) => {
    if (payload.session_ids === undefined) return ending("revoked")(board, payload, atMs, record);
    board.note(payload.reminder_id, atMs, record);
    return board.withhold(payload.reminder_id, payload.session_ids);
  },
  "hub.withdrawal.asked": (board, ...about) => board.question(...about),
  "hub.withdrawal.answered": (board, ...about) => board.question(...about),
  "hub.withdrawal.lapsed": (board, ...about) => board.question(...about),
};

function delivery(next) {
  return (board, payload, atMs, record) => {
    const found = board.note(payload.reminder_id, atMs, record);
    board.deliver(found.id, payload.session_id, next(found, payload.session_id));
  };
}

function ending(state) {
  return (board, payload, atMs, record) => {
    board.note(payload.reminder_id, atMs, record);
    board.end(payload.reminder_id, state);
  };
}
