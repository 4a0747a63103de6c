/* Asking the hub: one request, one answer, or an error that says which field is wrong.
 *
 * The page is signed in by a cookie that it cannot read. The token comes once, in the fragment of the
 * address or from the person, is sent once, and is kept nowhere.
 */

const SECONDS = 20;

/** The hub said no: `status`, `message`, and what is wrong with each field. */
export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `the hub answered ${status}`);
    this.status = status;
    this.reason = error?.data?.reason ?? null;
    this.problems = problemsOf(error);
  }
}

/** Nobody is signed in, or no longer. */
export class SignedOut extends Refused {}

/** No answer came. */
export class Unreachable extends Error {}

/** What `GET path` answers. */
export function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return ask(given.length ? `${path}?${search}` : path, { method: "GET" });
}

/** What `POST path` answers. */
export function post(path, body) {
  const headers = { "content-type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Sign in: the hub sets its cookie. */
export function signIn(token) {
  return ask("/v1/login", { method: "POST", headers: { authorization: `Bearer ${token}` } });
}

/** Sign out: the hub takes its cookie back. */
export function signOut() {
  return post("/v1/logout", {});
}

/** The token in the address, which is taken out of it at once; null when there is none. */
export function tokenInAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) history.replaceState(null, "", location.pathname);
  return given;
}

async function ask(path, options) {
  const answer = await sent(path, options);
  const text = await answer.text();
  const body = text ? read(text) : null;
  if (answer.ok) return body;
  throw answer.status === 401 ? new SignedOut(401, body?.error) : new Refused(answer.status, body?.error);
}

async function sent(path, options) {
  const signal = AbortSignal.timeout(SECONDS * 1000);
  try {
    return await fetch(path, { ...options, signal, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    const why = error.name === "TimeoutError" ? `gave no answer within ${SECONDS} s` : "cannot be reached";
    throw new Unreachable(`The hub ${why}.`, { cause: error });
  }
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** [field, message] for each problem; the field is "" when none is named. */
function problemsOf(error) {
  const message = error?.message ?? "";
  if (Array.isArray(error?.data?.problems)) {
    return error.data.problems.map((one) => [camel(one.field ?? ""), `${one.message} (${one.code})`]);
  }
  if (error?.data?.reason === "duplicate_id") return [["id", message]];
  return [[error?.data?.field || message.match(/^`([\w.]+)`/)?.[1] || "", message]];
}

function camel(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}
