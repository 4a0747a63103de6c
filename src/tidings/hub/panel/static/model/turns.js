/* The turns of a session in order, found by their number, with what divides them. Pure.
 *
 * A turn is one answered request: the words that led to it, the reminders it showed, the answer, the tool
 * calls with their results. Numbers begin anew when a session starts over; each such part is a segment.
 * Streams may be ahead of one another, so a turn is made by whoever names it first and put in its place.
 */

export class Turns {
  constructor() {
    this.items = [];
    this.segment = 0;
    this.startedMs = 0;
    this.byKey = new Map();
  }

  /** The turn of this number; the part before the last fresh start, when `atMs` lies before it. */
  at(number, atMs) {
    const segment = this.segment > 0 && atMs < this.startedMs ? this.segment - 1 : this.segment;
    const key = `${segment}.${number}`;
    return this.byKey.get(key) ?? this.#add(emptyTurn(key, segment, number, atMs));
  }

  /** Put something between turns: behind turn `number`, in the order in which it came. */
  divide(kind, number, atMs, facts) {
    const key = `${this.segment}.${number}.${kind}.${this.items.length}`;
    return this.#add({
      key,
      kind,
      segment: this.segment,
      number: number + 0.5,
      atMs,
      version: 0,
      ...facts,
    });
  }

  /** What comes now is numbered anew. */
  startOver(atMs) {
    this.segment += 1;
    this.startedMs = atMs;
  }

  #add(item) {
    this.byKey.set(item.key, item);
    let place = this.items.length;
    while (place > 0 && before(item, this.items[place - 1])) place -= 1;
    this.items.splice(place, 0, item);
    return item;
  }
}

function before(one, other) {
  return one.segment === other.segment ? one.number < other.number : one.segment < other.segment;
}

function emptyTurn(key, segment, number, atMs) {
  return {
    key,
    kind: "turn",
    segment,
    number,
    atMs,
    version: 0,
    inputs: [],
    answer: null,
    answeredMs: null,
    results: new Map(),
    loose: [],
    reminders: [],
    request: null,
    skipped: false,
  };
}

/** The words of a message: its text, with blocks that are no text named. */
export function wordsOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content))
    return content === null || content === undefined ? "" : JSON.stringify(content, null, 2);
  return content.map(blockWords).join("\n");
}

function blockWords(block) {
  if (typeof block?.text === "string") return block.text;
  const kind = block?.media_type ?? block?.type ?? "block";
  return `[${kind}]`;
}
