/* Taking reminders back: one, or all with a tag or key, at the hub and in the sessions that have them.
 * Each asks first and names what goes, and says afterwards what became of it.
 */

import { confirm, dialog } from "../dialog.js";
import { fill, h } from "../dom.js";
import { Board } from "../model/board.js";
import { addressText, OUTCOMES } from "../model/words.js";
import { counted, figure, oneLine, shortId } from "../text.js";

const NAMED = 8;
const KEEPS = "It is not shown again. What the agent has read stays in its own transcript.";
const ALSO = "What sessions have with it, queued or pending, is removed too.";

/** Ask whether to take this reminder back before it is let in, and do it. */
export function revoke(row, app, say) {
  const { envelope, session } = row;
  const alone = envelope === null || envelope.to.session === session?.id;
  confirm({
    title: "Revoke this reminder?",
    text: envelope === null ? waits(session) : `${sentTo(envelope)}${asks(envelope)}`,
    inside: h("ul", { class: "named" }, named(row)),
    button: "Revoke it",
    async act() {
      const answer = await app.revoke(row.id, alone ? (session?.id ?? null) : null);
      say(`${REVOKED[answer.status]}${beside(answer.sessions, "revoked", "already_revoked")}`);
    },
  });
}

const REVOKED = {
  revoked: "Revoked.",
  already_revoked: "It had been revoked before.",
  asked: "It is not revoked yet.",
};

function waits(session) {
  return `It waits in the mailbox of session ${shortId(session.id)} and is taken out of it.`;
}

function sentTo(envelope) {
  return `It was sent to ${addressText(envelope.to)}. No further session will get it.`;
}

function asks(envelope) {
  const held = [...envelope.deliveries.values()].filter((state) => state !== "waiting").length;
  if (!held) return "";
  const have = counted(held, "session has", "sessions have");
  return ` ${have} it: it is taken out where no request has shown it.`;
}

/** What is to be said of the sessions, besides of those where it went as it should. */
function beside(sessions, ...fine) {
  const others = (sessions ?? []).filter((one) => !fine.includes(one.outcome));
  const said = others.map((one) => `${shortId(one.sessionId)}: ${OUTCOMES[one.outcome]}.`);
  return said.length ? ` ${said.slice(0, NAMED).join(" ")}` : "";
}

/** Ask whether to remove this reminder from the transcript of its session, and do it. */
export function clearOne(row, app, say) {
  const { session } = row;
  const keeps = app.registration?.capabilities.reach?.un_showing === "no";
  const next = `The next request of session ${shortId(session.id)} will not show it.`;
  const shown = row.turns.length ? " Requests that showed it stay as they were." : "";
  confirm({
    title: "Clear this reminder?",
    text: keeps ? KEEPS : `${next}${shown}`,
    inside: h("ul", { class: "named" }, named(row)),
    button: "Clear it",
    async act() {
      const answer = await app.clear({ id: row.id, sessionId: session.id });
      const done = answer.removedCount > 0 ? "Cleared." : "Nothing was cleared.";
      say(`${done}${beside(answer.sessions, "cleared")}`);
    },
  });
}

/** Choose a tag or a key, see what goes, and take it back. */
export function clear(app, say) {
  const open = [...app.board.envelopes.values()].filter((one) => Board.revocable(one));
  if (open.length === 0) return say("Nothing is on its way that could be taken back.");
  const offered = choices(open);
  const choice = h(
    "select",
    { id: "clear-by", onchange: draw },
    offered.map((one, at) =>
      h("option", { value: String(at) }, `${one.text} (${figure(one.found.length)})`),
    ),
  );
  const list = h("ul", { class: "named" });
  const also = h("p", { class: "remark" }, ALSO);
  const go = h("button", { type: "button", class: "danger", onclick: run });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const inside = h(
    "div",
    { class: "dialog-body" },
    h("div", { class: "field" }, h("label", { for: "clear-by" }, "Everything with"), choice),
    list,
    also,
    problem,
    h(
      "div",
      { class: "actions" },
      go,
      h("button", { type: "button", onclick: () => element.close() }, "Keep"),
    ),
  );
  const element = dialog("Take back what is on its way", inside, { class: "clear" });
  draw();

  function draw() {
    const { found } = offered[Number(choice.value)];
    const more = found.length - NAMED;
    fill(list, found.slice(0, NAMED).map(named), more > 0 ? h("li", {}, `and ${figure(more)} more`) : null);
    go.textContent = `Take back ${counted(found.length, "reminder")}`;
  }

  async function run() {
    go.disabled = true;
    try {
      const answer = await app.clear(offered[Number(choice.value)].selector);
      element.close();
      say(`${counted(answer.removedCount, "reminder")} taken back.${beside(answer.sessions, "cleared")}`);
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
      go.disabled = false;
    }
  }
  return element;
}

/** A line for a reminder, as the hub or a session knows it. */
function named({ id, body, reminder, envelope, to = envelope?.to }) {
  const text = body ?? reminder?.body ?? id;
  return h(
    "li",
    {},
    h("span", { class: "body", dir: "auto" }, oneLine(text).slice(0, 160)),
    to ? h("span", { class: "apart" }, addressText(to)) : null,
  );
}

/** What the hub can clear by: each tag and each dedupe key that is on its way. */
function choices(open) {
  const found = new Map();
  for (const one of open) {
    for (const tag of one.reminder.tags ?? [])
      add(found, `tag ${tag}`, { tag }, `tag “${oneLine(tag)}”`, one);
    const key = one.reminder.dedupe_key;
    if (key) add(found, `key ${key}`, { dedupeKey: key }, `key “${oneLine(key)}”`, one);
    if (!key && !one.reminder.tags?.length)
      add(found, `id ${one.id}`, { id: one.id }, `id ${oneLine(one.id)}`, one);
  }
  return [...found.values()];
}

function add(found, name, selector, text, envelope) {
  if (!found.has(name)) found.set(name, { selector, text, found: [] });
  found.get(name).found.push(envelope);
}
