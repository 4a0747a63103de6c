/* The live feed: records as they are written, from a cursor on, however often the connection breaks.
 *
 * A browser gives one site six connections, so a page that nobody sees lets its feeds go and resumes
 * where it was. After an error the feed asks `ready` whether the hub is there, waits longer each time,
 * and goes on behind the last record it got; a record never comes twice.
 */

const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 6_000;

export class Feed {
  #source = null;
  #timer = null;
  #pause = FIRST_PAUSE;
  #ended = false;

  /** `query` chooses the records; `handlers` are `record`, `missed`, `state` and `ready`. */
  constructor(query, cursor, handlers) {
    this.query = query;
    this.cursor = cursor;
    this.handlers = handlers;
    this.state = "connecting";
    this.onseen = () => (document.hidden ? this.#rest() : this.retry());
    document.addEventListener("visibilitychange", this.onseen);
    this.#open();
  }

  /** Try now, if it is not connected. */
  retry() {
    if (this.#ended || this.#source !== null) return;
    clearTimeout(this.#timer);
    this.#pause = FIRST_PAUSE;
    this.#again();
  }

  /** Leave for good. */
  close() {
    this.#ended = true;
    document.removeEventListener("visibilitychange", this.onseen);
    this.#drop();
  }

  #open() {
    if (this.#ended) return;
    if (document.hidden) {
      this.#rest();
      return;
    }
    const search = new URLSearchParams({ ...this.query, fromCursor: String(this.cursor) });
    const source = new EventSource(`/v1/records?${search}`);
    this.#source = source;
    source.onopen = () => this.#live();
    source.onmessage = (event) => this.#take(event);
    source.addEventListener("lagged", (event) => this.#lagged(JSON.parse(event.data)));
    source.onerror = () => this.#broken();
  }

  #live() {
    this.#pause = FIRST_PAUSE;
    this.#tell("live");
  }

  #take(event) {
    const cursor = Number(event.lastEventId);
    if (cursor <= this.cursor) return;
    this.cursor = cursor;
    this.handlers.record(JSON.parse(event.data));
  }

  #lagged(told) {
    this.cursor = Math.max(this.cursor, told.resumeFrom);
    if (told.missed > 0) this.handlers.missed(told.missed);
    this.#drop();
    this.#open();
  }

  #broken() {
    this.#drop();
    this.#tell("waiting");
    this.#timer = setTimeout(() => this.#again(), this.#pause);
    this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2);
  }

  async #again() {
    if (this.#ended || document.hidden) return;
    this.#tell("connecting");
    const ready = await this.handlers.ready(this);
    if (this.#ended || this.#source !== null) return;
    if (ready) this.#open();
    else this.#broken();
  }

  #rest() {
    this.#drop();
    this.#tell("resting");
  }

  #drop() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #tell(state) {
    this.state = state;
    this.handlers.state(state);
  }
}
