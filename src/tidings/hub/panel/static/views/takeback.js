/* Taking reminders back at the hub: one, or all with a tag or key; each asks first and names what goes. */

import { confirm, dialog } from "../dialog.js";
import { fill, h } from "../dom.js";
import { Board } from "../model/board.js";
import { addressText } from "../model/words.js";
import { counted, figure, oneLine } from "../text.js";

const NAMED = 8;

/** Ask whether to take this envelope back, and do it. */
export function revoke(envelope, app, say) {
  const held = [...envelope.deliveries.values()].filter((state) => state !== "waiting").length;
  const have = counted(held, "session has", "sessions have");
  const stays = held ? ` ${have} it already and will keep it.` : "";
  confirm({
    title: "Revoke this reminder?",
    text: `It was sent to ${addressText(envelope.to)}. No further session will get it.${stays}`,
    inside: h("ul", { class: "named" }, named(envelope)),
    button: "Revoke it",
    async act() {
      const answer = await app.revoke(envelope.id);
      say(answer.status === "revoked" ? "Revoked." : "It had been revoked before.");
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
  const go = h("button", { type: "button", class: "danger", onclick: run });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const inside = h(
    "div",
    { class: "dialog-body" },
    h("div", { class: "field" }, h("label", { for: "clear-by" }, "Everything with"), choice),
    list,
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
      say(`${counted(answer.removedCount, "reminder")} taken back.`);
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
      go.disabled = false;
    }
  }
  return element;
}

function named(envelope) {
  return h(
    "li",
    {},
    h("span", { class: "body", dir: "auto" }, oneLine(envelope.reminder.body ?? envelope.id).slice(0, 160)),
    h("span", { class: "apart" }, addressText(envelope.to)),
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
