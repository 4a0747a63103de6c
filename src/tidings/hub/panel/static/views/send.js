/* Sending a reminder: whom it is for, all its fields, and what the hub says is wrong shown at the field.
 *
 * The id is made here when none is given, and kept while the content stays the same: sending again after
 * a lost answer does no harm.
 */

import { dialog } from "../dialog.js";
import { fill, h, line } from "../dom.js";
import { counted, lastPart, shortId } from "../text.js";
import { field, FIELDS, MORE } from "./fields.js";

/** Open the form; `say` is told what became of it. */
export function send(app, say) {
  const fields = [...FIELDS, ...MORE].map((one) => field(one));
  const byName = Object.fromEntries(fields.map((one) => [one.name, one]));
  const address = addressField(app);
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const submit = h("button", { type: "submit", class: "primary" }, "Send");
  const more = h(
    "details",
    { class: "more" },
    h("summary", {}, "More fields"),
    h(
      "div",
      { class: "fields" },
      fields.slice(FIELDS.length).map((one) => one.element),
    ),
  );
  const form = h(
    "form",
    { class: "dialog-body", novalidate: true, onsubmit: sending, onkeydown: quick },
    byName.body.element,
    address.element,
    h(
      "div",
      { class: "fields" },
      fields.slice(1, FIELDS.length).map((one) => one.element),
    ),
    more,
    problem,
    h("div", { class: "actions" }, submit, h("span", { class: "help" }, "Ctrl Enter sends")),
  );
  const element = dialog("Send a reminder", form, { class: "send" });
  byName.body.input.focus();
  let attempt = { content: null, id: null };

  function quick(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  }

  async function sending(event) {
    event.preventDefault();
    for (const one of [...fields, address]) one.tell(null);
    problem.hidden = true;
    const asked = {
      ...Object.fromEntries(fields.map((one) => [one.name, one.read()])),
      to: address.read(),
    };
    if (asked.tags !== undefined)
      asked.tags = asked.tags
        .split(",")
        .map((tag) => tag.trim())
        .filter(Boolean);
    const content = JSON.stringify(asked);
    if (attempt.content !== content) attempt = { content, id: uuid7() };
    submit.disabled = true;
    try {
      const answer = await app.remind({ ...asked, id: asked.id ?? attempt.id });
      element.close();
      say(sentText(answer));
    } catch (error) {
      show(error.problems ?? [["", error.message]]);
    }
    submit.disabled = false;
  }

  /** Put each problem at its field; the first of them gets the focus. */
  function show(problems) {
    let first = null;
    for (const [name, text] of problems) {
      const found = name === "to" || name.startsWith("to.") ? address : byName[name];
      if (found === undefined) {
        problem.hidden = false;
        problem.textContent = text;
        continue;
      }
      if (more.contains(found.element)) more.open = true;
      found.tell(text);
      first ??= found;
    }
    (first?.input ?? submit).focus();
  }
}

function sentText(answer) {
  const found = answer.sessions.length;
  return found === 0
    ? "Sent. No session matches yet; the hub keeps trying."
    : `Sent to ${counted(found, "session")}.`;
}

/** Whom it is for: four choices, two of which need a value. */
function addressField(app) {
  const known = app.place.view === "sessions" ? app.registration : null;
  const value = h("input", {
    type: "text",
    id: "field-to",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Address",
    "aria-describedby": "problem-to",
  });
  const problem = h("p", { class: "problem", id: "problem-to", role: "alert", hidden: true });
  const starts = {
    session: app.place.sessionId ?? "",
    workspace: known?.workspace ?? "",
    tag: known?.tags[0] ?? "",
  };
  const session = app.place.sessionId;
  const choices = [
    [
      "session",
      session === null
        ? ["One session"]
        : ["This session, ", known?.agent ? line(known.agent) : shortId(session)],
    ],
    [
      "workspace",
      known?.workspace ? ["Its workspace, ", line(lastPart(known.workspace))] : ["A workspace"],
    ],
    ["tag", ["Sessions with a tag"]],
    ["all", ["All sessions"]],
  ];
  const start = session === null ? "all" : "session";
  const radios = choices.map(([name]) =>
    h("input", { type: "radio", name: "to", value: name, checked: name === start, onchange: choose }),
  );
  const group = h(
    "div",
    { class: "radios", role: "radiogroup", "aria-label": "For" },
    choices.map(([, text], at) => h("label", {}, radios[at], h("span", {}, text))),
  );
  const element = h(
    "div",
    { class: "field address" },
    h("span", { class: "label" }, "For"),
    group,
    value,
    problem,
  );

  function chosen() {
    return radios.find((one) => one.checked).value;
  }

  function choose() {
    const name = chosen();
    value.hidden = name === "all";
    value.placeholder = { session: "session id", workspace: "/absolute/path", tag: "tag" }[name] ?? "";
    value.value = starts[name] ?? "";
  }

  choose();
  return {
    element,
    input: value,
    read: () => (chosen() === "all" ? { all: true } : { [chosen()]: value.value }),
    tell(text) {
      problem.hidden = text === null;
      fill(problem, text ?? "");
      value.setAttribute("aria-invalid", String(text !== null));
    },
  };
}

/** An id that sorts by its time (RFC 9562, version 7). */
export function uuid7(now = Date.now()) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let at = 0; at < 6; at += 1) bytes[at] = Math.floor(now / 2 ** (8 * (5 - at))) % 256;
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
