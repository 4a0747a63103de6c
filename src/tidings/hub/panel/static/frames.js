/* Drawing in frames: whatever changed since the last frame, every view that listens to it draws once.
 *
 * However many records arrive, there is one fold and one drawing for each frame that the browser shows.
 * A view that fails is reported and does not keep the others from drawing.
 */

export class Frames {
  #listeners = new Map();
  #dirty = new Set();
  #wanted = false;

  /** `before` is called first in each frame and gives the topics that changed by it. */
  constructor(before) {
    this.before = before;
  }

  /** Call `listener` in the next frame after any of these topics changed. */
  on(topics, listener) {
    for (const topic of topics)
      this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener]);
  }

  /** These topics changed. */
  touch(...topics) {
    for (const topic of topics) this.#dirty.add(topic);
    if (this.#wanted) return;
    this.#wanted = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#wanted = false;
    const topics = new Set([...this.#dirty, ...this.before()]);
    this.#dirty.clear();
    const called = new Set([...topics].flatMap((topic) => this.#listeners.get(topic) ?? []));
    for (const listener of called) {
      try {
        listener();
      } catch (error) {
        reportError(error);
      }
    }
  }
}
