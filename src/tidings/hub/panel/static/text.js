/* Words and figures as the page shows them: other people's text made safe to read, times, counts, ids.
 * Pure.
 *
 * What could reorder, hide or move text is written out, so that a reader sees what a model would read.
 * The result is one plain string; `dom.js` puts it into a text node. Nothing here touches the document.
 */

const PICTURES = 0x2400;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const JOINED = /[\p{L}\p{M}\p{Extended_Pictographic}\u{FE0F}\u{1F3FB}-\u{1F3FF}]/u;
const KEPT = new Set(["\n", "\t"]);
const JOINERS = new Set(["\u200c", "\u200d"]);
const KIB = 1024;

/** `text` with control, format and unpaired characters written out; line breaks and tabs stay. */
export function visible(text) {
  const plain = String(text).replaceAll("\r\n", "\n");
  return plain.replace(HIDDEN, (character, at) => shown(character, at, plain));
}

/** The same on one line. */
export function oneLine(text) {
  return visible(text).replace(/\s+/g, " ").trim();
}

function shown(character, at, text) {
  if (KEPT.has(character) || (JOINERS.has(character) && joins(at, text))) return character;
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(PICTURES + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

function joins(at, text) {
  const before = text.codePointAt(at - 2) > 0xffff ? text.slice(at - 2, at) : text.slice(at - 1, at);
  return JOINED.test(before) && JOINED.test(String.fromCodePoint(text.codePointAt(at + 1) ?? 0x20));
}

/**
 * The beginning of `text`: so many characters and lines, whole characters only, and whether that is all.
 */
export function beginning(text, characters, lines) {
  let end = Math.min(text.length, characters);
  for (let line = 0, at = -1; line < lines; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at < 0 || at > end) break;
    if (line === lines - 1) end = at;
  }
  if (end === text.length) return { text, whole: true };
  const last = text.charCodeAt(end - 1);
  const half = last >= 0xd800 && last < 0xdc00;
  return { text: text.slice(0, half ? end - 1 : end), whole: false };
}

/** How much `text` is, for people. */
export function size(text) {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes < KIB) return counted(bytes, "byte");
  const kib = bytes / KIB;
  return kib < 10 ? `${kib.toFixed(1)} KiB` : `${Math.round(kib)} KiB`;
}

/** "1 turn", "2 turns", "10,000 turns". */
export function counted(count, word, several = `${word}s`) {
  return `${figure(count)} ${count === 1 ? word : several}`;
}

/** A whole number with its thousands apart. */
export function figure(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Turn numbers as ranges: [1, 2, 3, 5] is "1–3, 5". */
export function ranges(numbers) {
  const parts = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}

/** The part of an id that tells it apart at a glance: UUIDs that begin alike differ at their end. */
export function shortId(id) {
  const text = oneLine(id);
  return text.length > 14 ? `…${text.slice(-8)}` : text;
}

/** The last folder of a path. */
export function lastPart(path) {
  return path.replace(/\/+$/, "").split("/").at(-1) || path;
}

/** The time of day, to the second. */
export function clock(ms) {
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** Day and time, the day left out when it is today's. */
export function moment(ms, now = Date.now()) {
  const at = new Date(ms);
  if (at.toDateString() === new Date(now).toDateString()) return clock(ms);
  const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  return `${day.map((part) => String(part).padStart(2, "0")).join("-")} ${clock(ms)}`;
}

/** How long it is from one time to another, in the two largest units that say something. */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60)
    return seconds % 60 && minutes < 5 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return counted(Math.floor(hours / 24), "day");
}
