/* A long list of which only the visible part is in the document.
 *
 * Entries may differ in height: each is estimated until it was seen, then measured. Space before and
 * behind the drawn part stands for the rest. An entry is drawn anew only when its version changes. A
 * reader at the end stays at the end when something is added; otherwise what is in view stays where it
 * is. The document is laid out once for each drawing: sizes are read from what was observed, not asked
 * for.
 */

import { h, replace } from "./dom.js";

const OVERSCAN = 400;
const NEAR = 24;
const FIRST_HEIGHT = 800;

export class Windowed {
  #items = [];
  #heights = new Map();
  #drawn = new Map();
  #observer = new ResizeObserver((entries) => this.#measured(entries));
  #wanted = false;
  #seen = FIRST_HEIGHT;

  /** `key`, `version` and `draw` are asked for each entry; `estimate` is a height in pixels. */
  constructor(scroller, { key, version, draw, estimate, follow = false, role = "list" }) {
    Object.assign(this, { scroller, key, version, draw, estimate, follow });
    this.before = h("div", { class: "room", "aria-hidden": "true" });
    this.behind = h("div", { class: "room", "aria-hidden": "true" });
    this.body = h("div", { class: "window", role });
    scroller.append(this.before, this.body, this.behind);
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#observer.observe(scroller);
    this.atEnd = follow;
  }

  get items() {
    return this.#items;
  }

  /** Show these entries. */
  show(items) {
    this.#items = items;
    this.#again();
  }

  /** Scroll until entry `index` is in view, and give its element. */
  reveal(index) {
    const [top, height] = [this.#top(index), this.#height(index)];
    const { scrollTop } = this.scroller;
    if (top < scrollTop) this.#to(top);
    else if (top + height > scrollTop + this.#seen) this.#to(top + height - this.#seen);
    return this.element(index);
  }

  /** Show the end, and stay there. */
  toEnd() {
    this.atEnd = this.follow;
    this.#draw(this.#top(this.#items.length) - this.#seen);
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** The element of entry `index`; null while it is not drawn. */
  element(index) {
    const item = this.#items[index];
    return item === undefined ? null : (this.#drawn.get(this.key(item))?.element ?? null);
  }

  #to(top) {
    this.#draw(top);
    this.scroller.scrollTop = top;
    this.#draw(this.scroller.scrollTop);
  }

  #again() {
    if (this.follow && this.atEnd) this.toEnd();
    else this.#draw(this.scroller.scrollTop);
  }

  #scrolled() {
    const { scrollTop, scrollHeight } = this.scroller;
    this.atEnd = scrollTop + this.#seen >= scrollHeight - NEAR;
    this.#soon(() => this.#draw(this.scroller.scrollTop));
  }

  #soon(work) {
    if (this.#wanted) return;
    this.#wanted = true;
    requestAnimationFrame(() => {
      this.#wanted = false;
      work();
    });
  }

  #height(index) {
    return this.#heights.get(this.key(this.#items[index])) ?? this.estimate;
  }

  #top(index) {
    let top = 0;
    for (let at = 0; at < index; at += 1) top += this.#height(at);
    return top;
  }

  #draw(top) {
    const [from, to, before, behind] = this.#span(top - OVERSCAN, top + this.#seen + OVERSCAN);
    const kept = new Map();
    for (let index = from; index < to; index += 1)
      kept.set(this.key(this.#items[index]), this.#entry(index));
    for (const [key, entry] of this.#drawn) if (kept.get(key) !== entry) this.#discard(entry);
    this.#drawn = kept;
    let place = this.body.firstElementChild;
    for (const { element } of kept.values()) {
      if (element === place) place = place.nextElementSibling;
      else this.body.insertBefore(element, place);
    }
    this.before.style.height = `${before}px`;
    this.behind.style.height = `${behind}px`;
  }

  /** The first and the last entry between two heights, and the room before and behind them. */
  #span(top, bottom) {
    const count = this.#items.length;
    let [at, index, before] = [0, 0, 0];
    for (; index < count && at + this.#height(index) < top; index += 1) at += this.#height(index);
    const from = index;
    before = at;
    for (; index < count && at < bottom; index += 1) at += this.#height(index);
    const to = index;
    const drawn = at;
    for (; index < count; index += 1) at += this.#height(index);
    return [from, to, before, at - drawn];
  }

  #entry(index) {
    const item = this.#items[index];
    const [key, version] = [this.key(item), this.version(item)];
    const known = this.#drawn.get(key);
    const entry = known?.version === version ? known : { version, element: this.#made(item, index, key) };
    entry.element.setAttribute("aria-posinset", String(index + 1));
    entry.element.setAttribute("aria-setsize", String(this.#items.length));
    if (known && known !== entry) replace(known.element, entry.element);
    return entry;
  }

  #made(item, index, key) {
    const element = this.draw(item, index);
    element.windowKey = key;
    this.#observer.observe(element);
    return element;
  }

  #discard(entry) {
    this.#observer.unobserve(entry.element);
    entry.element.remove();
  }

  /** Heights are known now: what is above the view must not push it, and the end must stay the end. */
  #measured(entries) {
    const first = this.scroller.getBoundingClientRect().top;
    let [above, changed] = [0, false];
    for (const { target } of entries) {
      if (target === this.scroller) {
        changed ||= this.#seen !== target.clientHeight && target.clientHeight > 0;
        this.#seen = target.clientHeight || this.#seen;
        continue;
      }
      const box = target.getBoundingClientRect();
      const known = this.#heights.get(target.windowKey) ?? this.estimate;
      if (!target.isConnected || box.height === 0 || Math.abs(known - box.height) < 0.5) continue;
      this.#heights.set(target.windowKey, box.height);
      changed = true;
      if (box.bottom <= first) above += box.height - known;
    }
    if (!changed) return;
    if (above !== 0 && !(this.follow && this.atEnd)) this.scroller.scrollTop += above;
    this.#soon(() => this.#again());
  }
}
