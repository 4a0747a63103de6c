/* States and records in sentences: why a reminder is where it is, and what each record says. Pure.
 *
 * Everything the page explains stands here, as tables where it can. Text of other people that goes into a
 * sentence is made visible first, on one line.
 */

import { clock, counted, moment, oneLine, ranges, shortId } from "../text.js";
import { progress } from "./board.js";

const MODES = {
  interrupt_immediate: "it is let in at the next seam, also before tools run",
  finish_step: "it is let in when the step is finished",
  audit_only: "it is kept for the audit when the loop ends",
};

export const DELIVERY = {
  transcript: [
    "kept",
    "A delivered reminder is written to the session's transcript and outlives a restart.",
  ],
  request: ["once", "A delivered reminder is shown in one request; a host that dies with it loses it."],
  unknown: ["unknown", "The session's host did not say how well it keeps what was delivered."],
};

/** How well a session keeps what was delivered. */
export function deliveryText(delivery) {
  return (DELIVERY[delivery] ?? DELIVERY.unknown)[1];
}

export const TRUST = {
  operator: "from the agent's own code",
  host: "from the owner of this machine",
  external: "from outside: shown to the model as quoted data",
};

const EXPIRED = {
  ttl: (end, row) => {
    const were =
      row.ttlTurns === 1 ? "turn was" : row.ttlTurns === null ? "turns were" : `${row.ttlTurns} turns were`;
    const when = end.early ? " before it could be delivered" : end.turn ? ` after turn ${end.turn}` : "";
    return `Its ${were} over${when}.`;
  },
  compaction: () => "Compaction left it out: it was not to be preserved.",
  cleared: () => "It was cleared from the transcript.",
};

const DROPPED = {
  invalid: "It could not be read as a reminder.",
  capability_mismatch: "The model's route has no place for it.",
};

const REASONS = {
  queued: (row) => WAITING[row.waitsAt](row),
  pending: (row) => `In the transcript; the next request shows it${left(row)}.`,
  emitted: (row) => `Shown in ${turnsText(row.turns)}; still in the transcript${left(row)}.`,
  replaced: ({ reminder: { end } }) =>
    `Replaced by ${shortId(end.by)}${end.key ? `, which has the same key “${oneLine(end.key)}”` : ""}.`,
  expired: (row) =>
    (row.reminder?.end ? EXPIRED[row.reminder.end.reason]?.(row.reminder.end, row) : null) ??
    (row.told ? "It left the transcript." : "No session took it before its time was over."),
  revoked: (row) =>
    row.told
      ? "Taken back before a seam let it in."
      : "Taken back at the hub, before the session's host had it.",
  dropped: ({ reminder: { end } }) =>
    `${DROPPED[end.reason] ?? "It could not be used."}${end.detail ? ` ${oneLine(end.detail)}` : ""}`,
  delivered: () => "In the mailbox of every session that it found.",
  audited: () => "Kept for the audit when the loop ended; the model never saw it.",
};

const WAITING = {
  hub: (row) => `Waits at the hub; it tries until ${moment(row.envelope.untilMs)}.`,
  host: () => "The session's host has it and has not confirmed it yet.",
  mailbox: (row) => `In the mailbox; ${MODES[row.mode] ?? "it waits for a seam"}.`,
};

/** Why a reminder is in its state. */
export function reasonOf(row) {
  const reason = REASONS[row.state](row);
  const shown = row.turns;
  const ended = !row.active && shown.length > 0;
  return ended ? `${reason} Shown in ${turnsText(shown)}.` : reason;
}

/** Turns as words: "turn 3", "turns 3–5, 8". */
export function turnsText(turns) {
  return turns.length === 1 ? `turn ${turns[0]}` : `turns ${ranges(turns)}`;
}

function left(row) {
  const turns = row.turnsLeft;
  return turns === null ? "" : `, ${counted(turns, "turn")} left`;
}

/** Whom an envelope is for. */
export function addressText(to) {
  if (to.session !== undefined) return `session ${shortId(to.session)}`;
  if (to.workspace !== undefined) return `workspace ${oneLine(to.workspace)}`;
  if (to.tag !== undefined) return `sessions tagged “${oneLine(to.tag)}”`;
  return "all sessions";
}

const PROGRESS = {
  waiting: (envelope) => `no host has it yet; the hub tries until ${clock(envelope.untilMs)}`,
  leased: () => "a host has it and has not confirmed it",
  acknowledged: () => "delivered",
  expired: () => "its time was over first",
  revoked: () => "taken back",
};

/** How far an envelope got, in words. */
export function progressText(envelope) {
  return PROGRESS[progress(envelope)](envelope);
}

/** What became of it in a session that was asked to take it back. */
export const OUTCOMES = {
  revoked: "taken out of its mailbox",
  already_revoked: "it had been taken back before",
  already_delivered: "it stands in the transcript already",
  unknown_reminder_id: "it is not known there",
  cleared: "removed",
  forgotten: "not shown again; what the agent has read stays in its own transcript",
  refused: "the session refused",
  asked: "it has not answered yet",
  lapsed: "the session left, or did not answer in time",
  left: "the session is not there",
  not_able: "its host takes nothing back",
  busy: "it leaves too many requests unanswered",
};

const SAID = {
  "mailbox.queued": (p) =>
    p.item?.message ? "words of the user wait in the mailbox" : "put into the mailbox",
  "mailbox.drained": () => "left the mailbox",
  "mailbox.revoked": () => "taken out of the mailbox",
  "transcript.message": (p) => `message of the ${p.message?.role ?? "user"}`,
  "transcript.injected": () => "written to the transcript",
  "transcript.audited": () => "kept for the audit",
  "transcript.cleared": () => "cleared from the transcript",
  "transcript.passed": (p) => `turn ${p.turn} is over`,
  "transcript.fired": (p) => `request ${p.turn} was answered`,
  "transcript.snapshot": (p) =>
    `transcript with ${counted(p.transcript?.messages?.length ?? 0, "message")}`,
  "request.rendered": (p) => `request ${p.turn} showed ${counted(p.rendered?.length ?? 0, "reminder")}`,
  "loop.checkpoint": (p) =>
    `let in at ${p.seam}${p.dispatch_skipped ? "; the tool calls were skipped" : ""}`,
  "transcript.reminder.queued": (p) => `queued, ${p.mode}`,
  "transcript.reminder.injected": () => "pending",
  "transcript.reminder.fired": (p) => `shown in turn ${p.turn_number} as ${p.rendered_role}`,
  "transcript.reminder.deduped": (p) => `${shortId(p.replacing_id)} replaced ${shortId(p.replaced_id)}`,
  "transcript.reminder.expired": (p) => `expired: ${p.reason}`,
  "transcript.reminder.dropped": (p) => `dropped: ${p.reason}`,
  "transcript.reminder.inherited": (p) => `inherited from ${p.originating_agent_id ?? "its parent"}`,
  "transcript.reminder.provider_evaluated": (p) =>
    `${p.provider_id} at ${p.event}: ${p.fired ? "fired" : "nothing to say"}`,
  "transcript.reminder.revoked": () => "revoked",
  "transcript.reminder.warning": (p) => `${p.code}: ${p.message}`,
  "transcript.reminder.restricted": (p) => `asked ${p.field} ${p.asked}, was given ${p.given}`,
  "transcript.reminder.cache_hint": (p) => p.message,
  "session.emitted": (p) => `event ${p.event}`,
  "hub.reminder.accepted": (p) => `accepted by the hub for ${addressText(p.to ?? {})}`,
  "hub.reminder.addressed": (p) => `addressed to ${counted(p.session_ids?.length ?? 0, "session")}`,
  "hub.reminder.leased": (p) => `given to the host of ${shortId(p.session_id)}`,
  "hub.reminder.returned": (p) => `back at the hub: ${p.reason}`,
  "hub.reminder.acknowledged": (p) =>
    `in the mailbox of ${shortId(p.session_id)}${p.late ? ", confirmed late" : ""}`,
  "hub.reminder.expired": () => "the hub gave up: its time was over",
  "hub.reminder.revoked": (p) =>
    p.session_ids ? `withheld from ${counted(p.session_ids.length, "session")}` : "taken back at the hub",
  "hub.withdrawal.asked": (p) => `${shortId(p.session_id)} is asked to take it back`,
  "hub.withdrawal.answered": (p) => `${shortId(p.session_id)} answered: ${OUTCOMES[p.result] ?? p.result}`,
  "hub.withdrawal.lapsed": (p) => `${shortId(p.session_id)} did not answer: ${p.reason}`,
};

/** What a record says, in a few words. */
export function said(record) {
  if (record.problem) return `This record could not be read. ${oneLine(record.problem)}`;
  return oneLine(String(SAID[record.kind]?.(record.payload) ?? ""));
}

/** A kind without what all kinds of its family begin with. */
export function shortKind(kind) {
  return oneLine(kind.replace(/^transcript\.reminder\.|^hub\.reminder\.|^hub\./, ""));
}
