/* The axis of the timeline: turns or times to a place between 0 and 100, with ticks that can be read.
 * Pure.
 */

import { clock } from "../text.js";

const TICKS = 8;
const STEPS_MS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400,
].map((s) => s * 1000);

/** The part of the axis that a range leaves: the last so many turns or milliseconds, or all of it. */
export function scaleOf(session, by, last) {
  const { records } = session;
  const value = by === "turn" ? (record) => session.place(record) : (record) => record.atMs;
  let [from, to] = [Infinity, -Infinity];
  for (const record of records) {
    const at = value(record);
    if (at < from) from = at;
    if (at > to) to = at;
  }
  if (records.length === 0) [from, to] = [0, 1];
  if (last) from = Math.max(from, to - last);
  return by === "turn"
    ? new Scale(by, Math.floor(from) - 0.25, Math.ceil(to) + 0.25, value)
    : new Scale(by, from, Math.max(to, from + 1000), value);
}

class Scale {
  constructor(by, from, to, value) {
    Object.assign(this, { by, from, to, value });
  }

  get key() {
    return `${this.by} ${this.from} ${this.to}`;
  }

  /** Where a record stands, in percent; below 0 when it is before the range. */
  place(record) {
    return this.at(this.value(record));
  }

  at(value) {
    return ((value - this.from) / (this.to - this.from)) * 100;
  }

  /** [place, text] of each tick. */
  ticks() {
    const step = this.by === "turn" ? turnStep(this.to - this.from) : timeStep(this.to - this.from);
    const found = [];
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
      found.push([this.at(at), this.by === "turn" ? String(Math.round(at)) : clock(at)]);
    }
    return found;
  }
}

function turnStep(width) {
  let step = 1;
  for (const factor of [2, 2.5, 2].concat(Array(12).fill([2, 2.5, 2]).flat())) {
    if (width / step <= TICKS * 1.5) break;
    step *= factor;
  }
  return Math.max(1, Math.round(step));
}

function timeStep(width) {
  return (
    STEPS_MS.find((step) => width / step <= TICKS) ?? Math.ceil(width / TICKS / 86_400_000) * 86_400_000
  );
}

/** How many records fall into each of `bins` equal parts. */
export function density(records, scale, bins) {
  const counts = new Array(bins).fill(0);
  for (const record of records) {
    const place = scale.place(record);
    if (place >= 0) counts[Math.min(bins - 1, Math.floor((place / 100) * bins))] += 1;
  }
  return counts;
}
