/* The session that is shown: its records loaded page by page, then followed live, and folded frame by
 * frame.
 *
 * Of a long session only the last part is loaded, more on demand; a session that grows for days is
 * folded anew from its last part, so that the page stays as small as it was.
 */

import { get } from "./api.js";
import { Session } from "./model/session.js";

const PAGE = 1_000;
const PART = 12_000;
const MOST = 60_000;

export class Following {
  #incoming = [];
  #ended = false;

  constructor(sessionId, app) {
    this.app = app;
    this.session = new Session(sessionId);
    this.feed = null;
    this.first = 0;
    this.earliest = 0;
    this.latest = 0;
    this.missed = 0;
    this.loading = true;
    this.problem = null;
    this.#begin();
  }

  /** Whether records before the loaded ones can be had. */
  get more() {
    return this.first > this.earliest;
  }

  close() {
    this.#ended = true;
    this.feed?.close();
  }

  /** Take in what arrived; gives whether there was anything. */
  fold() {
    const records = this.#incoming.splice(0);
    for (const record of records) this.session.apply(record);
    if (this.session.records.length > MOST) this.#anew(this.session.records.slice(-MOST / 2));
    return records.length > 0;
  }

  /** Load the part before the first loaded record, and fold everything anew. */
  async earlier() {
    if (!this.more || this.loading) return;
    this.loading = true;
    this.app.touch("session");
    const end = this.first;
    const start = Math.max(this.earliest, end - PART);
    const records = [];
    await this.#pages(start, end, (page) => records.push(...page));
    if (this.#ended) return;
    this.first = start;
    this.#anew([...records, ...this.session.records]);
    this.loading = false;
    this.app.touch("session");
  }

  #anew(records) {
    this.first = records[0].cursor - 1;
    this.session = new Session(this.session.id);
    for (const record of records) this.session.apply(record);
  }

  async #begin() {
    const { records, latest } = (await this.#ask({ after: 0, limit: 1 })) ?? { records: [], latest: 0 };
    if (this.#ended || this.problem !== null) return;
    this.latest = latest;
    this.earliest = records.length > 0 ? records[0].cursor - 1 : latest;
    this.first = Math.max(this.earliest, latest - PART);
    await this.#pages(this.first, latest, (page) => this.#arrived(page));
    if (this.#ended || this.problem !== null) return;
    this.loading = false;
    const cursor = Math.max(latest, this.#incoming.at(-1)?.cursor ?? this.session.cursor);
    const take = (record) => this.#arrived([record]);
    this.feed = this.app.feed({ sessionId: this.session.id }, cursor, take, (count) => this.#missed(count));
    this.app.touch("session", "connection");
  }

  #missed(count) {
    this.missed += count;
    this.app.touch("session");
  }

  #arrived(records) {
    this.#incoming.push(...records);
    this.latest = Math.max(this.latest, records.at(-1)?.cursor ?? 0);
    this.app.touch("session");
  }

  /** Give `take` every page of records behind `start`, up to `end`. */
  async #pages(start, end, take) {
    let after = start;
    while (after < end && !this.#ended) {
      const answer = await this.#ask({ after, limit: Math.min(PAGE, end - after) });
      if (answer === null || answer.records.length === 0) return;
      take(answer.records);
      after = answer.records.at(-1).cursor;
    }
  }

  async #ask(query) {
    try {
      return await get("/v1/sessions/records", { sessionId: this.session.id, ...query });
    } catch (error) {
      this.loading = false;
      this.problem = error.message;
      this.app.touch("session");
      return null;
    }
  }
}
