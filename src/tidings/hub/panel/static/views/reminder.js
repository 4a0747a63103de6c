/* A reminder whole: its state and reason, its fields, what can be done with it, the fragment that was
 * rendered with its place in the request, and its history.
 */

import { badge, disclosure, facts, h, line, tagList, words } from "../dom.js";
import { takenBack } from "../model/rows.js";
import { addressText, progressText, reasonOf, said, shortKind, TRUST } from "../model/words.js";
import { clock, counted, oneLine, shortId } from "../text.js";

const HISTORY = 100;
const FRAGMENTS = 30;
const DELIVERIES = 12;

/** What the panel knows of a reminder; `does` holds what its buttons do: revoke, clearOne, say. */
export function reminder(row, app, does) {
  return [
    h("p", { class: "state-line" }, badge(row.state)),
    h("p", { class: "reason" }, reasonOf(row)),
    row.body === null
      ? h("p", { class: "remark" }, "Its text was not told.")
      : words(row.body, `body ${row.id}`, { class: "quoted" }),
    actions(row, app, does),
    fields(row),
    notes(row),
    fragments(row),
    history(row),
  ];
}

function actions(row, app, does) {
  const back = takenBack(row, app.registration);
  const replacing = row.reminder?.end?.by;
  const danger = { type: "button", class: "danger", "data-key": back };
  const buttons = [
    back === "revoke" ? h("button", { ...danger, onclick: () => does.revoke(row) }, "Revoke") : null,
    back === "clear" ? h("button", { ...danger, onclick: () => does.clearOne(row) }, "Clear") : null,
    h("button", { type: "button", "data-key": "copy", onclick: () => copy(row.id, does) }, "Copy its id"),
    replacing
      ? h(
          "button",
          { type: "button", "data-key": "replacing", onclick: () => app.go({ open: replacing }) },
          "Show what replaced it",
        )
      : null,
  ];
  return h("div", { class: "actions" }, buttons);
}

async function copy(id, does) {
  await navigator.clipboard.writeText(id);
  does.say("The id was copied.");
}

function fields(row) {
  const { envelope, reminder: own } = row;
  const left = row.turnsLeft;
  const origin = own?.originatingAgentId;
  return facts([
    ["Source", row.source],
    ["Trust", row.trust ? `${row.trust}: ${TRUST[row.trust] ?? ""}` : null],
    ["Origin", row.origin && line(row.origin)],
    ["Provider", own?.providerId && line(own.providerId)],
    ["First emitted by", origin && line(origin)],
    [
      "Turns to live",
      row.ttlTurns === null ? "until it is cleared or compacted away" : String(row.ttlTurns),
    ],
    ["Turns left", left === null ? null : String(left)],
    ["Tags", tagList(row.tags, 40)],
    ["Dedupe key", row.dedupeKey && h("bdi", { class: "mono" }, oneLine(row.dedupeKey))],
    ["Mode", row.mode],
    ["Let in at", own?.seam],
    ["Propagate", row.propagate],
    ["Role hint", row.roleHint],
    [
      "On compaction",
      row.preserveOnCompact === null ? null : row.preserveOnCompact ? "preserved" : "left out",
    ],
    ["Sent to", envelope && addressText(envelope.to)],
    ["At the hub", envelope && progressText(envelope)],
    ["Deliveries", envelope && envelope.deliveries.size ? deliveries(envelope) : null],
    ["Reminder id", h("bdi", { class: "mono" }, oneLine(row.id))],
    ["Event id", own?.eventId && h("bdi", { class: "mono" }, oneLine(own.eventId))],
  ]);
}

function deliveries(envelope) {
  const all = [...envelope.deliveries];
  const shown = all
    .slice(0, 12)
    .map(([id, state]) =>
      h("li", {}, h("bdi", { class: "mono", title: oneLine(id) }, shortId(id)), ` ${state}`),
    );
  if (all.length > DELIVERIES)
    shown.push(h("li", {}, `and ${counted(all.length - DELIVERIES, "more session")}`));
  return h("ul", { class: "bare" }, shown);
}

function notes(row) {
  const found = row.reminder?.notes ?? [];
  return found.map((one) => h("p", { class: "remark" }, said(one)));
}

function fragments(row) {
  const shown = [...(row.reminder?.shown.values() ?? [])].reverse();
  if (shown.length === 0) return null;
  const told = shown.filter((one) => one.fragment !== undefined);
  const parts = (told.length ? told : shown).slice(0, FRAGMENTS).map((one, at) => fragment(one, row, at));
  const more =
    told.length > FRAGMENTS
      ? h("p", { class: "remark" }, `${counted(told.length - FRAGMENTS, "earlier request")} left out.`)
      : null;
  return [h("h3", {}, "As the model saw it"), parts, more];
}

function fragment(one, row, at) {
  const place = one.path ? h("code", { class: "path" }, oneLine(one.path)) : null;
  const summary = h("span", {}, `Turn ${one.turn}, ${oneLine(one.role ?? "unknown role")} `, place);
  const facts = [one.route, one.placement && `placement ${one.placement}`]
    .filter(Boolean)
    .map(oneLine)
    .join(", ");
  const inside = () =>
    h(
      "div",
      {},
      facts ? h("p", { class: "remark" }, facts) : null,
      one.fragment === undefined
        ? h("p", { class: "remark" }, "The fragment was not told.")
        : words(one.fragment, `fragment ${row.id} ${one.turn}`, { class: "code" }),
    );
  if (at === 0) return h("div", { class: "fragment first" }, h("p", {}, summary), inside());
  return disclosure(`fragment ${row.id} ${one.turn}`, summary, inside, { class: "fragment" });
}

function history(row) {
  const all = row.history;
  const shown = all.slice(-HISTORY);
  const left = all.length - shown.length;
  return [
    h("h3", {}, "History"),
    left > 0 ? h("p", { class: "remark" }, `${counted(left, "earlier record")} left out.`) : null,
    h(
      "ol",
      { class: "history" },
      shown.map((one) =>
        h(
          "li",
          {},
          h("time", {}, clock(one.atMs)),
          h("span", { class: "kind", title: oneLine(one.kind) }, shortKind(one.kind)),
          h("bdi", {}, said(one)),
        ),
      ),
    ),
  ];
}
