/* The fields of the form that sends a reminder, as data; and a field with its label, help and problem. */

import { h } from "../dom.js";

export const FIELDS = [
  {
    name: "body",
    label: "What happened",
    kind: "text",
    help: "One or two sentences; the model reads them in its next request.",
  },
  { name: "tags", label: "Tags", kind: "line", help: "Separated by commas." },
  {
    name: "dedupeKey",
    label: "Dedupe key",
    kind: "line",
    help: "A newer reminder with this key replaces an older one.",
  },
  {
    name: "ttlTurns",
    label: "Turns to live",
    kind: "number",
    help: "After so many answered requests it leaves. Empty: until cleared.",
  },
  {
    name: "mode",
    label: "Let in",
    kind: "choice",
    choices: [
      ["finish_step", "when the step is finished"],
      ["interrupt_immediate", "at once, also before tools run"],
      ["audit_only", "at the end, for the audit only"],
    ],
  },
];

export const MORE = [
  {
    name: "roleHint",
    label: "Role",
    kind: "choice",
    choices: [
      ["system", "system"],
      ["developer", "developer"],
      ["user_block", "user block"],
      ["ephemeral_cache", "user block, cached"],
    ],
    help: "A wish: the model's route decides.",
  },
  {
    name: "propagate",
    label: "Sub-agents",
    kind: "choice",
    choices: [
      ["session", "direct children inherit it"],
      ["all", "all descendants inherit it"],
      ["none", "nobody inherits it"],
    ],
  },
  { name: "preserveOnCompact", label: "Survives compaction", kind: "check" },
  {
    name: "deliverWithin",
    label: "Deliver within",
    kind: "number",
    help: "Seconds for which the hub tries; 600 unless given.",
  },
  {
    name: "id",
    label: "Id",
    kind: "line",
    help: "Yours, or one is made. Sending the same again does no harm.",
  },
];

/** A field with its label; `read` gives its value, `tell` shows what is wrong with it. */
export function field({ name, label, kind, help = null, choices = [] }, start = "") {
  const about = [help ? `help-${name}` : null, `problem-${name}`].filter(Boolean).join(" ");
  const shared = { id: `field-${name}`, name, "aria-describedby": about };
  const input = INPUTS[kind](shared, choices);
  if (kind === "check") input.checked = start === true;
  else if (start !== "") input.value = start;
  const problem = h("p", { class: "problem", id: `problem-${name}`, role: "alert", hidden: true });
  const element = h(
    "div",
    { class: `field kind-${kind}` },
    h("label", { for: `field-${name}` }, label),
    input,
    help ? h("p", { class: "help", id: `help-${name}` }, help) : null,
    problem,
  );
  return {
    name,
    element,
    input,
    read: () => READ[kind](input),
    tell(text) {
      problem.hidden = text === null;
      problem.textContent = text ?? "";
      input.setAttribute("aria-invalid", String(text !== null));
    },
  };
}

const INPUTS = {
  text: (shared) => h("textarea", { ...shared, rows: 4, dir: "auto" }),
  line: (shared) => h("input", { ...shared, type: "text", autocomplete: "off", spellcheck: "false" }),
  number: (shared) => h("input", { ...shared, type: "text", inputmode: "numeric", autocomplete: "off" }),
  check: (shared) => h("input", { ...shared, type: "checkbox" }),
  choice: (shared, choices) =>
    h(
      "select",
      shared,
      choices.map(([value, text]) => h("option", { value }, text)),
    ),
};

const READ = {
  text: (input) => input.value,
  line: (input) => input.value.trim() || undefined,
  number: (input) => (input.value.trim() === "" ? undefined : numeric(input.value.trim())),
  check: (input) => input.checked || undefined,
  choice: (input) => input.value,
};

/** A number where it is one; else the text as it is, so that the hub can say what is wrong with it. */
function numeric(text) {
  return Number.isFinite(Number(text)) ? Number(text) : text;
}
