/* Where the reader is: a view, a session, a tab, an open reminder. It stands in the address, so that
 * reloading the page and going back work. Reading and writing it, nothing else.
 */

export const TABS = ["transcript", "reminders", "timeline", "records"];
export const VIEWS = ["sessions", "queue", "consent", "workspaces"];

const NOWHERE = { view: "sessions", sessionId: null, tab: "transcript", open: null };

/** The place that an address names. */
export function readPlace(hash) {
  const [view, ...rest] = hash.replace(/^#\/?/, "").split("/").map(decoded);
  if (!VIEWS.includes(view)) return NOWHERE;
  if (view !== "sessions") return { ...NOWHERE, view, open: rest[0] || null };
  const [sessionId, tab, open] = rest;
  const known = TABS.includes(tab) ? tab : "transcript";
  return { view, sessionId: sessionId || null, tab: known, open: open || null };
}

/** The address of a place. */
export function writePlace({ view, sessionId, tab, open }) {
  const parts = view === "sessions" ? (sessionId === null ? [] : [sessionId, tab, open]) : [open];
  const given = parts.filter((part) => part !== null).map(encodeURIComponent);
  return `#/${[view, ...given].join("/")}`;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
