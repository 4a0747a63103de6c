/* Moving through a windowed list by keyboard and choosing by keyboard or pointer.
 *
 * The list is one stop of the Tab key; arrows, Home, End and Page keys move a mark through it, Enter
 * chooses. The marked entry is named by `aria-activedescendant`, so that it is read out although the
 * focus stays on the list.
 */

const PAGE = 10;

let lists = 0;

export class Choosing {
  #name = `list${(lists += 1)}`;

  /**
   * `chosen` says whether an entry is the chosen one, `choose` chooses it; `moved` is told of a mark
   * that moves.
   */
  constructor(list, { label, chosen, choose, moved = null, selectable = () => true }) {
    Object.assign(this, { list, chosen, choose, moved, selectable, marked: null });
    const { scroller } = list;
    scroller.tabIndex = 0;
    scroller.setAttribute("role", "listbox");
    scroller.setAttribute("aria-label", label);
    list.body.setAttribute("role", "presentation");
    scroller.addEventListener("keydown", (event) => this.#key(event));
    scroller.addEventListener("click", (event) => this.#click(event));
    scroller.addEventListener("focus", () => this.#focused());
    scroller.addEventListener("blur", () => scroller.classList.remove("moving"));
  }

  /** Make an element of the list an option; call it for each one that is drawn. */
  dress(element, item) {
    const key = this.list.key(item);
    element.id = `${this.#name}-${key}`;
    element.classList.add("option");
    element.setAttribute("role", "option");
    element.setAttribute("aria-selected", String(this.chosen(item)));
    element.classList.toggle("marked", key === this.marked);
    return element;
  }

  /**
   * Say anew which entry is chosen, among those that are drawn. A list that was empty when the focus
   * came marks where to begin as soon as it has entries.
   */
  refresh() {
    if (this.marked === null && document.activeElement === this.list.scroller) this.#focused();
    this.list.items.forEach((item, index) => {
      const element = this.list.element(index);
      if (element?.classList.contains("option")) this.dress(element, item);
    });
  }

  #focused() {
    this.list.scroller.classList.add("moving");
    const byKey = this.list.scroller.matches(":focus-visible");
    if (byKey && this.#index() < 0) this.#mark(this.#start(), false);
  }

  #start() {
    const chosen = this.list.items.findIndex((item) => this.selectable(item) && this.chosen(item));
    return chosen >= 0 ? chosen : this.#next(-1, 1);
  }

  #index() {
    return this.list.items.findIndex((item) => this.list.key(item) === this.marked);
  }

  #key(event) {
    if (event.target !== this.list.scroller || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = MOVES[event.key];
    const index = this.#index();
    if (move !== undefined) this.#mark(this.#reached(index, move), true);
    else if ((event.key === "Enter" || event.key === " ") && index >= 0)
      this.choose(this.list.items[index], event);
    else return;
    event.preventDefault();
  }

  #reached(index, move) {
    const last = this.list.items.length - 1;
    if (Number.isFinite(move))
      return this.#next(Math.max(-1, Math.min(last + 1, index + move - Math.sign(move))), Math.sign(move));
    return move > 0 ? this.#next(last + 1, -1) : this.#next(-1, 1);
  }

  /** The next entry that can be chosen, in one direction; the same when there is none. */
  #next(index, step) {
    for (let at = index + step; at >= 0 && at < this.list.items.length; at += step) {
      if (this.selectable(this.list.items[at])) return at;
    }
    return this.#index();
  }

  #mark(index, tell) {
    if (index < 0) return;
    const item = this.list.items[index];
    this.marked = this.list.key(item);
    const element = this.list.reveal(index);
    this.refresh();
    this.list.scroller.setAttribute("aria-activedescendant", element?.id ?? "");
    if (tell) this.moved?.(item);
  }

  #click(event) {
    const element = event.target.closest(".option");
    if (element === null || event.target.closest("button, a, summary, input") !== null) return;
    const index = this.list.items.findIndex((item) => this.list.key(item) === element.windowKey);
    if (index < 0 || !this.selectable(this.list.items[index])) return;
    this.#mark(index, false);
    this.choose(this.list.items[index], event);
  }
}

const MOVES = {
  ArrowDown: 1,
  ArrowUp: -1,
  j: 1,
  k: -1,
  PageDown: PAGE,
  PageUp: -PAGE,
  Home: -Infinity,
  End: Infinity,
};
