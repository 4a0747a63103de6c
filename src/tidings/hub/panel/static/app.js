/* The state of the page, and what changes it: loading, live records, where the reader is, what is asked
 * of the hub.
 *
 * Records that arrive are kept until the next frame and folded together (`frames.js`). Views read this
 * object and call its methods; they never talk to the hub themselves, except through `api.js` for lists
 * that only they show.
 */

import { get, post, SignedOut, signIn, signOut, Unreachable } from "./api.js";
import { Feed } from "./feed.js";
import { Following } from "./following.js";
import { Frames } from "./frames.js";
import { Board } from "./model/board.js";
import { NOTHING } from "./model/filter.js";
import { rowOf, rowsOf } from "./model/rows.js";
import { readPlace, writePlace } from "./place.js";

const HUB_HISTORY = 2_000;
const LOAD_AGAIN = 3_000;
const ANSWER_SECONDS = 10;

export class App {
  constructor() {
    this.board = new Board();
    this.following = null;
    this.filter = NOTHING;
    this.place = readPlace(location.hash);
    this.signedIn = null;
    this.problem = null;
    this.status = null;
    this.loaded = false;
  }

  #hub = null;
  #again = null;
  #incoming = [];
  #frames = new Frames(() => this.#fold());
  #rows = { key: [], list: [] };

  /** Call `listener` in the next frame after any of these changed. */
  on(topics, listener) {
    this.#frames.on(topics, listener);
  }

  /** Something changed: board, session, place, filter, connection, sign-in or workspaces. */
  touch(...topics) {
    this.#frames.touch(...topics);
  }

  /** Take in what arrived since the last frame; gives what changed by it beside the board. */
  #fold() {
    const changed = this.following?.fold() ? ["session"] : [];
    for (const record of this.#incoming.splice(0)) {
      this.board.apply(record);
      if (record.kind.startsWith("hub.workspace.")) changed.push("workspaces");
    }
    return changed;
  }

  /** Begin: with the token of the address if there is one. */
  async start(token) {
    addEventListener("hashchange", () => this.#arrive(readPlace(location.hash)));
    if (token === null || (await this.signIn(token))) await this.load();
  }

  /** Sign in; gives whether that worked, `problem` says why not. */
  async signIn(token) {
    try {
      await signIn(token);
      this.problem = null;
      return true;
    } catch (error) {
      this.#failed(error, "The hub does not know this token.");
      return false;
    }
  }

  async signOut() {
    await signOut();
    this.#signedOut(null);
  }

  /** Load everything anew and follow what happens. */
  async load() {
    clearTimeout(this.#again);
    this.#hub?.close();
    try {
      this.status = await get("/v1/status");
      const [sessions, reminders] = await Promise.all([this.#sessions(), get("/v1/reminders")]);
      this.board = new Board();
      this.board.listSessions(sessions.sessions);
      this.board.listEnvelopes(reminders.reminders);
    } catch (error) {
      this.#failed(error);
      if (error instanceof Unreachable) this.#again = setTimeout(() => this.load(), LOAD_AGAIN);
      return;
    }
    [this.signedIn, this.problem, this.loaded] = [true, null, true];
    this.#hub = this.feed({}, Math.max(0, this.status.cursor - HUB_HISTORY), (record) => {
      this.#incoming.push(record);
      this.touch("board");
    });
    this.touch("board", "place", "connection", "sign-in");
    this.#follow(true);
  }

  #sessions() {
    return get("/v1/sessions", { ended: true });
  }

  /** Read the list of sessions again: how much each has told stands only there. */
  async refresh() {
    if (!this.signedIn) return;
    try {
      this.board.listSessions((await this.#sessions()).sessions);
      this.touch("board");
    } catch (error) {
      if (!(error instanceof Unreachable)) this.#failed(error);
    }
  }

  /** A feed of records behind `cursor` that keeps itself alive. */
  feed(query, cursor, record, missed = () => {}) {
    const state = () => this.touch("connection");
    return new Feed(query, cursor, { record, missed, state, ready: () => this.#ready() });
  }

  /** Whether the hub is there again; one with another log is loaded anew. */
  async #ready() {
    try {
      this.status = await get("/v1/status");
    } catch (error) {
      if (error instanceof SignedOut) this.#signedOut("You are signed out.");
      return false;
    }
    if (this.status.cursor >= this.board.cursor) return true;
    await this.load();
    return false;
  }

  /** live, connecting, waiting or resting: the worst of the feeds. */
  get connection() {
    if (!this.loaded && this.problem !== null) return "waiting";
    const states = [this.#hub?.state, this.following?.feed?.state];
    const order = ["waiting", "connecting", "resting", "live"];
    return order.find((state) => states.includes(state)) ?? "connecting";
  }

  /** Try to connect now. */
  retry() {
    if (!this.loaded) return this.load();
    this.#hub?.retry();
    if (this.following?.problem) this.#follow(true);
    return this.following?.feed?.retry();
  }

  #failed(error, refused = null) {
    if (error instanceof SignedOut) {
      this.#signedOut(refused);
      return;
    }
    this.problem = error.message;
    this.touch("sign-in", "connection");
  }

  #signedOut(problem) {
    this.#hub?.close();
    this.following?.close();
    [this.#hub, this.following, this.loaded, this.signedIn] = [null, null, false, false];
    this.problem = problem;
    this.touch("sign-in", "connection", "place");
  }

  /** Go somewhere: what is not named stays. `replace` leaves no trace in the history. */
  go(to, replace = false) {
    const place = { ...this.place, ...to };
    const address = writePlace(place);
    if (address === location.hash) return;
    history[replace ? "replaceState" : "pushState"](null, "", address);
    this.#arrive(place);
  }

  #arrive(place) {
    this.place = place;
    this.#follow(false);
    this.touch("place");
  }

  #follow(anew) {
    const { view, sessionId } = this.place;
    if (!this.signedIn || view !== "sessions" || sessionId === null) return;
    if (!anew && this.following?.session.id === sessionId) return;
    this.following?.close();
    if (this.following?.session.id !== sessionId) this.filter = NOTHING;
    this.following = new Following(sessionId, this);
    this.touch("session", "connection");
  }

  /** The session that is shown, as far as it is loaded; null when none is. */
  get session() {
    return this.following?.session ?? null;
  }

  /** What the hub says of the session that is shown. */
  get registration() {
    return this.board.sessions.get(this.place.sessionId) ?? null;
  }

  /** The reminders of the session that is shown. */
  rows() {
    if (this.session === null) return [];
    const key = [this.session, this.session.version, this.board, this.board.version];
    if (!key.every((part, at) => part === this.#rows.key[at])) {
      this.#rows = { key, list: rowsOf(this.session, this.board) };
    }
    return this.#rows.list;
  }

  /** One reminder, as the session that is shown or the hub knows it. */
  row(id) {
    return rowOf(id, this.place.view === "sessions" ? this.session : null, this.board);
  }

  setFilter(parts) {
    this.filter = { ...this.filter, ...parts };
    this.touch("filter");
  }

  remind(reminder) {
    return post("/v1/reminders", reminder);
  }

  /** Take a reminder back before it is let in, from everybody or from one session. */
  revoke(reminderId, sessionId = null) {
    return post("/v1/reminders/revoke", { reminderId, sessionId, waitSeconds: ANSWER_SECONDS });
  }

  /** Remove what matches, on its way and in the sessions, or in one. */
  clear(selector) {
    return post("/v1/reminders/clear", { ...selector, waitSeconds: ANSWER_SECONDS });
  }
}
