/* One reminder of a session: what its records said of it so far, and the state that follows from that.
 * Pure.
 *
 * The records of a session come as streams that need not be in step, so a reminder keeps facts (was it
 * queued, let in, shown, ended) and its state is worked out from them. `session.js` fills it in.
 */

export const STATES = {
  queued: "waits at the hub or in the mailbox until a seam lets it in",
  pending: "is in the transcript; the next request shows it",
  emitted: "was shown to the model and is still in the transcript",
  replaced: "gave way to a newer one with its key",
  expired: "left: its turns were over, it was cleared, or compaction left it out",
  revoked: "was taken back before it was let in",
  dropped: "could not be used",
  audited: "was kept for the audit; the model never sees it",
};

/** States in which a reminder still does something. */
export const ACTIVE = new Set(["queued", "pending", "emitted"]);

const isText = (value) => typeof value === "string";
const isTexts = (value) => Array.isArray(value) && value.every(isText);

/** Each field of a payload, its name here, and what it must be to be taken over. */
const FIELDS = [
  ["tags", "tags", isTexts],
  ["dedupe_key", "dedupeKey", isText],
  ["ttl_turns", "ttlTurns", Number.isInteger],
  ["preserve_on_compact", "preserveOnCompact", (value) => typeof value === "boolean"],
  ["propagate", "propagate", isText],
  ["role_hint", "roleHint", isText],
  ["source", "source", isText],
  ["body", "body", isText],
  ["mode", "mode", isText],
  ["trust", "trust", isText],
  ["origin", "origin", isText],
  ["originating_agent_id", "originatingAgentId", isText],
];

export class Reminder {
  constructor(id, atMs) {
    this.id = id;
    this.firstMs = atMs;
    this.lastMs = atMs;
    this.version = 0;
    this.body = null;
    this.tags = [];
    this.dedupeKey = null;
    this.ttlTurns = null;
    this.preserveOnCompact = null;
    this.propagate = null;
    this.roleHint = null;
    this.source = null;
    this.mode = null;
    this.trust = null;
    this.origin = null;
    this.providerId = null;
    this.originatingAgentId = null;
    this.eventId = null;
    this.seam = null;
    this.inherited = false;
    this.queued = false;
    this.injected = false;
    this.injectedTurn = 0;
    this.countsFrom = null;
    this.budget = null;
    this.shown = new Map();
    this.end = null;
    this.notes = [];
    this.history = [];
    this.kinds = new Set();
  }

  /** Take over the fields that `payload` names; what it leaves out stays as it was. */
  take(payload) {
    for (const [name, own, fits] of FIELDS) if (fits(payload[name])) this[own] = payload[name];
    const told = payload._meta?.tidings;
    if (told) this.#takeProvenance(told);
  }

  #takeProvenance({ trust = "operator", origin, provider_id: providerId }) {
    if (isText(trust)) this.trust = trust;
    if (isText(origin)) this.origin = origin;
    if (isText(providerId)) this.providerId = providerId;
  }

  /** It is over. What the lifecycle said counts; the transcript's word only where nothing was said. */
  finish(end) {
    if (this.end === null || this.end.supposed) this.end = end;
  }

  /** Note that a request showed it; a request that is told twice is one. */
  show(key, facts) {
    this.shown.set(key, { ...this.shown.get(key), ...facts });
  }

  get state() {
    if (this.end !== null) return this.end.state;
    if (this.injected || this.shown.size > 0) return this.shown.size > 0 ? "emitted" : "pending";
    return "queued";
  }

  /** The turns that showed it, in order. */
  get turns() {
    return [...this.shown.values()].map((one) => one.turn);
  }

  /** How many turns it has left after `passed` was answered; null without an end in sight. */
  turnsLeft(passed) {
    if (this.ttlTurns === null || !ACTIVE.has(this.state)) return null;
    if (!this.injected) return this.ttlTurns;
    const spent = Math.max(0, passed - (this.countsFrom ?? this.injectedTurn) + 1);
    return Math.max(0, (this.budget ?? this.ttlTurns) - spent);
  }

  /** Its turns count from `turn` on, with as many left as there are now. */
  countFrom(turn, passed) {
    this.budget = this.turnsLeft(passed);
    this.countsFrom = turn;
  }
}
