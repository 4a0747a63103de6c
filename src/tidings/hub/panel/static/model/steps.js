/* What each kind of record does to a session: one small function per kind, and the table of them. Pure.
 *
 * The payloads are those of the event log (docs/reference/records.md): content on the transcript's
 * stream, what happened to reminders on the lifecycle's, what an answered request showed on that of
 * requests. Only `session.js` calls these.
 */

const LIFECYCLE = "transcript.reminder.";
const MOST_TURNS = 1e9;

/** The id in a slot of the mailbox; an external one stands behind its origin. */
export function nameOf(slot) {
  return Array.isArray(slot) ? String(slot.at(-1)) : String(slot);
}

/** Whether `number` can be that of a turn; 0 stands for before the first. */
export function isTurn(number) {
  return Number.isInteger(number) && number >= 0 && number < MOST_TURNS;
}

/** `number` if it can be that of a turn. */
export function checkedTurn(number, record) {
  if (isTurn(number)) return number;
  throw new TypeError(`${record.kind} names no turn`);
}

function onMessage(session, { message }, record) {
  const said = BY_ROLE[message?.role] ?? onInput;
  said(session, message, record);
}

function onInput(session, message, record) {
  const number = session.startsInside && session.shownTurn === 0 ? 0 : session.shownTurn + 1;
  const role = typeof message?.role === "string" ? message.role : "user";
  session.turn(number, record).inputs.push({ role, message, atMs: record.atMs });
}

function onAnswer(session, said, record) {
  const message = { ...said, tool_calls: objectsIn(said.tool_calls) };
  let turn = session.turn(session.shownTurn, record);
  if (turn.answer !== null || (session.shownTurn === 0 && !session.startsInside)) {
    session.shownTurn += 1;
    turn = session.turn(session.shownTurn, record);
  }
  [turn.answer, turn.answeredMs] = [message, record.atMs];
  for (const call of message.tool_calls) session.calls.set(call.id, turn);
}

function objectsIn(list) {
  return Array.isArray(list) ? list.filter((one) => one !== null && typeof one === "object") : [];
}

function onResult(session, message, record) {
  const turn = session.calls.get(message.tool_call_id);
  if (turn === undefined) {
    session.turn(session.shownTurn, record).loose.push(message);
    return;
  }
  turn.version += 1;
  turn.results.set(message.tool_call_id, { message, atMs: record.atMs });
}

const BY_ROLE = { assistant: onAnswer, tool: onResult };

function onFiredTurn(session, payload, record) {
  session.turn(payload.turn, record);
  session.shownTurn = payload.turn;
  session.answeredMs.push({ turn: payload.turn, atMs: record.atMs });
  for (const eventId of payload.postponed ?? []) {
    session.reminders.get(session.events.get(eventId))?.countFrom(payload.turn + 1, session.passedTurn);
  }
}

function onPassed(session, payload, record) {
  const turn = checkedTurn(payload.turn, record);
  session.passedTurn = Math.max(session.passedTurn, turn);
  session.shownTurn = Math.max(session.shownTurn, turn);
}

function onEvent(session, payload, record) {
  const event = payload.event ?? {};
  const told = event.reminder ?? {};
  const found = session.described(told.id ?? event.id, told, record);
  found.eventId = event.id;
  session.events.set(event.id, found.id);
  return [found, told];
}

function onInjectedEvent(session, payload, record) {
  const [found, told] = onEvent(session, payload, record);
  letIn(session, found, told);
  found.countsFrom ??= found.injectedTurn;
}

function letIn(session, found, told) {
  found.injected = true;
  const first = isTurn(told.fired_at_turn) ? told.fired_at_turn : 0;
  found.injectedTurn = Math.max(first, session.passedTurn + 1);
}

function onAudited(session, payload, record) {
  const [found] = onEvent(session, payload, record);
  found.finish({ state: "audited", atMs: record.atMs });
}

function onClearedEvents(session, payload, record) {
  for (const eventId of payload.event_ids ?? []) {
    const id = session.events.get(eventId);
    if (id !== undefined)
      session.finish(id, { state: "expired", reason: "cleared", supposed: true }, record);
  }
}

function onSnapshot(session, payload, record) {
  const whole = payload.transcript ?? {};
  const turn = checkedTurn(whole.reminder_lifecycle?.turn ?? 0, record);
  if (turn < session.shownTurn) session.startOver(record.atMs, "a fresh transcript");
  session.shownTurn = Math.max(session.shownTurn, turn);
  session.passedTurn = Math.max(session.passedTurn, turn);
  for (const event of objectsIn(whole.events)) {
    if (event.kind === "system_reminder" && event.reminder) onInjectedEvent(session, { event }, record);
  }
  const messages = objectsIn(whole.messages);
  if (messages.length > 0) session.turns.divide("snapshot", session.shownTurn, record.atMs, { messages });
}

function onQueuedItem(session, payload, record) {
  const { mode, reminder, message } = payload.item ?? {};
  if (message) session.waitingWords.set(String(message.id), { ...message, mode, atMs: record.atMs });
  if (reminder) session.described(reminder.id, { ...reminder, mode }, record).queued = true;
}

function onLeftMailbox(session, payload, record) {
  for (const slot of payload.ids ?? []) {
    const id = nameOf(slot);
    if (session.waitingWords.delete(id)) continue;
    if (record.kind === "mailbox.drained") session.reminder(id, record);
    else session.finish(id, { state: "revoked", reason: "mailbox", supposed: true }, record);
  }
}

function onQueued(session, payload, record) {
  session.described(payload.reminder_id, payload, record).queued = true;
}

function onInjected(session, payload, record) {
  letIn(session, session.described(payload.reminder_id, payload, record), payload);
}

function onInherited(session, payload, record) {
  const found = session.described(payload.reminder_id, { ...payload, source: "inherited" }, record);
  [found.inherited, found.injected] = [true, true];
}

function onFired(session, payload, record) {
  shownBy(session, payload.reminder_id, payload.turn_number, record, {
    role: payload.rendered_role,
    placement: payload.placement,
  });
}

function onRendered(session, payload, record) {
  const turn = session.turn(payload.turn, record);
  turn.request = {
    route: payload.route,
    placement: payload.placement,
    messageCount: payload.message_count,
  };
  for (const one of objectsIn(payload.rendered)) {
    const { role, path, fragment } = one;
    const facts = { role, path, fragment, placement: payload.placement, route: payload.route };
    shownBy(session, one.reminder_id, payload.turn, record, facts);
  }
}

function shownBy(session, id, number, record, facts) {
  const [found, turn] = [session.reminder(id, record), session.turn(number, record)];
  if (!found.shown.has(turn.key)) turn.reminders.push(found);
  found.show(turn.key, { turn: number, of: turn, atMs: record.atMs, ...facts });
}

function onDeduped(session, payload, record) {
  const [by, key] = [payload.replacing_id, payload.dedupe_key];
  session.reminder(by, record);
  for (const id of payload.replaced_ids ?? [payload.replaced_id]) {
    session.finish(id, { state: "replaced", by, key }, record);
  }
}

function onExpired(session, payload, record) {
  const { reason, expired_at_turn: turn, before_delivery: early } = payload;
  session.finish(payload.reminder_id, { state: "expired", reason, turn, early }, record);
}

function onDropped(session, payload, record) {
  const { reason, detail } = payload;
  session.finish(payload.reminder_id, { state: "dropped", reason, detail }, record);
}

function onRevoked(session, payload, record) {
  session.finish(payload.reminder_id, { state: "revoked", reason: "mailbox" }, record);
}

function onNote(session, payload, record) {
  if (payload.reminder_id) session.reminder(payload.reminder_id, record).notes.push(record);
  else session.notes.push(record);
}

function onCheckpoint(session, payload, record) {
  for (const id of payload.reminder_ids ?? []) session.reminder(id, record).seam = payload.seam;
  if (payload.dispatch_skipped) session.turn(session.shownTurn, record).skipped = true;
}

/** The kinds that change something. */
export const STEPS = {
  "transcript.message": onMessage,
  "transcript.fired": onFiredTurn,
  "transcript.passed": onPassed,
  "transcript.injected": onInjectedEvent,
  "transcript.audited": onAudited,
  "transcript.cleared": onClearedEvents,
  "transcript.snapshot": onSnapshot,
  "mailbox.queued": onQueuedItem,
  "mailbox.drained": onLeftMailbox,
  "mailbox.revoked": onLeftMailbox,
  "request.rendered": onRendered,
  "loop.checkpoint": onCheckpoint,
  [`${LIFECYCLE}queued`]: onQueued,
  [`${LIFECYCLE}injected`]: onInjected,
  [`${LIFECYCLE}inherited`]: onInherited,
  [`${LIFECYCLE}fired`]: onFired,
  [`${LIFECYCLE}deduped`]: onDeduped,
  [`${LIFECYCLE}expired`]: onExpired,
  [`${LIFECYCLE}dropped`]: onDropped,
  [`${LIFECYCLE}revoked`]: onRevoked,
  [`${LIFECYCLE}warning`]: onNote,
  [`${LIFECYCLE}restricted`]: onNote,
  [`${LIFECYCLE}cache_hint`]: onNote,
};
