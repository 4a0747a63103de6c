/* Elements, built safely: whatever is text becomes a text node, never markup.
 *
 * `h` is the only way in which the views make elements, `s` the same for drawings. Other people's text
 * goes through `words`, which makes it visible, keeps its direction to itself and folds what is long.
 */

import { beginning, counted, oneLine, size, visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const LONG = 1_200;
const LINES = 14;

/** An element with attributes and children. `on…` are listeners, `class` and `data-…` as in HTML. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in PROPERTIES) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

const PROPERTIES = { value: true, checked: true, hidden: true, disabled: true, textContent: true };

/**
 * Put `children` in place of whatever `element` holds; the focus stays with the part of the same `data-
 * key`.
 */
export function fill(element, ...children) {
  const shown = children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false);
  keepingFocus(element, element, () => element.replaceChildren(...shown));
  return element;
}

/** Put `next` in the place of `old`, with the focus where it was. */
export function replace(old, next) {
  if (!keepingFocus(old, next, () => old.replaceWith(next))) next.focus({ preventScroll: true });
}

/** Do `change`; gives false when the focus was inside `old` and found no place in `next`. */
function keepingFocus(old, next, change) {
  const active = document.activeElement;
  const inside = old !== active && old.contains(active);
  const key = inside ? active.dataset.key : undefined;
  change();
  if (!inside || next.contains(document.activeElement)) return true;
  const again = key && [...next.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
  again?.focus({ preventScroll: true });
  return Boolean(again);
}

/** Other people's text on one line. */
export function line(text, attributes = {}) {
  return h("bdi", { ...attributes, class: `line ${attributes.class ?? ""}` }, oneLine(text));
}

const unfolded = new Set();

/** Fold everything that was opened: another session is shown, and its parts have the same names. */
export function foldAll() {
  unfolded.clear();
}

/**
 * Other people's text, whole lines; what is long is folded. `key` names it, so that it stays as it was
 * left.
 */
export function words(text, key, attributes = {}) {
  const whole = visible(text);
  const start = beginning(whole, LONG, LINES);
  const prose = h("div", { dir: "auto", ...attributes, class: `words ${attributes.class ?? ""}` });
  prose.textContent = start.whole || unfolded.has(key) ? whole : start.text;
  return start.whole
    ? prose
    : h("div", { class: "foldable" }, prose, foldButton(prose, key, whole, start.text));
}

function foldButton(prose, key, whole, start) {
  const button = h("button", { type: "button", class: "fold", "data-key": `fold ${key}`, onclick: turn });
  function label() {
    const open = unfolded.has(key);
    button.textContent = open ? "Fold" : `Show all ${size(whole)}`;
    button.setAttribute("aria-expanded", String(open));
  }
  function turn(event) {
    event.stopPropagation();
    if (!unfolded.delete(key)) unfolded.add(key);
    prose.textContent = unfolded.has(key) ? whole : start;
    label();
  }
  label();
  return button;
}

/**
 * Something that opens and closes and stays as it was left: a summary, and what `inside` makes when
 * open.
 */
export function disclosure(key, summary, inside, attributes = {}) {
  const details = h(
    "details",
    { ...attributes, open: unfolded.has(key) },
    h("summary", { "data-key": `open ${key}` }, summary),
  );
  if (details.open) details.append(inside());
  details.addEventListener("toggle", () => {
    if (details.open) unfolded.add(key);
    else unfolded.delete(key);
    if (details.open && details.childElementCount === 1) details.append(inside());
  });
  return details;
}

/** A value as indented JSON, visible. */
export function json(value, key) {
  return words(JSON.stringify(value, null, 2), key, { class: "code", dir: "ltr" });
}

/** A list of names and values; pairs whose value is null are left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = (value) => (typeof value === "string" ? oneLine(value) : value);
  return h(
    "dl",
    { class: "facts" },
    shown.map(([name, value]) => [h("dt", {}, name), h("dd", {}, text(value))]),
  );
}

/** A small mark with its word; its look is given by its class. */
export function badge(name, text = name, title = null) {
  return h(
    "span",
    { class: `badge is-${name}`, title },
    h("i", { class: "mark", "aria-hidden": "true" }),
    text,
  );
}

/** Tags, each with its own direction; of many only the first are shown. */
export function tagList(tags, most = 6) {
  if (tags.length === 0) return null;
  const shown = tags.slice(0, most).map((tag) => h("bdi", { class: "tag" }, oneLine(tag)));
  if (tags.length > most) shown.push(h("span", { class: "tag more" }, `+${tags.length - most}`));
  return h("span", { class: "tags", "aria-label": counted(tags.length, "tag") }, shown);
}
