/* Where the page begins: makes the state, the views and the shortcuts, and signs in. */

import { tokenInAddress } from "./api.js";
import { App } from "./app.js";
import { fill, h } from "./dom.js";
import { listen } from "./keys.js";
import { TABS } from "./place.js";
import { applyTheme } from "./theme.js";
import { takenBack } from "./model/rows.js";
import { bar } from "./views/bar.js";
import { consent } from "./views/consent.js";
import { detail } from "./views/detail.js";
import { help } from "./views/help.js";
import { queue } from "./views/queue.js";
import { send } from "./views/send.js";
import { session } from "./views/session.js";
import { sessions } from "./views/sessions.js";
import { signin } from "./views/signin.js";
import { clear, clearOne, revoke } from "./views/takeback.js";
import { welcome } from "./views/welcome.js";
import { workspaces } from "./views/workspaces.js";

const SAID_MS = 6_000;
const WIDE = matchMedia("(min-width: 760px)");

const token = tokenInAddress();
applyTheme();
const app = new App();
const at = (id) => document.getElementById(id);
const main = at("main");
const does = {
  say,
  send: () => app.signedIn && send(app, say),
  help: () => help(app),
  clear: () => clear(app, say),
  revoke: (row) => revoke(row, app, say),
  clearOne: (row) => clearOne(row, app, say),
};

const top = bar(at("bar"), app, does);
const side = sessions(at("side"), app);
detail(at("detail"), app, does);
const views = {
  signin: made("signin", (root) => signin(root, app)),
  welcome: made("welcome", (root) => welcome(root, app, does)),
  session: made("session", (root) => session(root, app)),
  queue: made("queue", (root) => queue(root, app, does)),
  consent: made("consent", (root) => consent(root, app, say)),
  workspaces: made("workspaces", (root) => workspaces(root, app)),
};
app.on(["place", "sign-in", "board", "connection"], show);
at("skip").addEventListener("click", () => (current().focus ? current() : main).focus());
addEventListener("focus", () => app.refresh());
addEventListener("online", () => app.retry());

listen({
  "?": does.help,
  n: does.send,
  c: () => app.signedIn && does.clear(),
  r: takeBackOpen,
  "/": () => app.place.view === "sessions" && app.session !== null && views.session.view.search(),
  s: toSessions,
  m: () => current().focus?.(),
  t: top.nextTheme,
  Escape: close,
  ...Object.fromEntries(
    TABS.map((tab, index) => [
      String(index + 1),
      () => app.session !== null && views.session.view.open(tab),
    ]),
  ),
});
app.start(token);

function made(name, make) {
  const root = h("section", { class: `view ${name}-view`, hidden: true });
  main.append(root);
  return { root, view: make(root) };
}

/** The view that the place asks for. */
function wanted() {
  if (app.signedIn === false) return "signin";
  if (app.place.view !== "sessions") return app.signedIn ? app.place.view : "welcome";
  return app.signedIn && app.place.sessionId !== null ? "session" : "welcome";
}

function current() {
  return views[wanted()].view;
}

function show() {
  settle();
  const name = wanted();
  const before = Object.keys(views).find((one) => !views[one].root.hidden);
  for (const [one, { root }] of Object.entries(views)) root.hidden = one !== name;
  document.body.dataset.view = name;
  document.body.classList.toggle("peopled", app.board.sessions.size > 0);
  if (before !== name) views[name].view.draw?.();
}

/** Where there is room for both, the first live session is shown without asking. */
function settle() {
  const { view, sessionId } = app.place;
  if (!app.signedIn || view !== "sessions" || sessionId !== null || !WIDE.matches) return;
  const all = [...app.board.sessions.values()];
  const first =
    all.filter((one) => one.state === "live").sort((a, b) => b.startedMs - a.startedMs)[0] ?? all[0];
  if (first !== undefined) app.go({ sessionId: first.id }, true);
}

function toSessions() {
  app.go({ view: "sessions", open: null, ...(WIDE.matches ? {} : { sessionId: null }) });
  requestAnimationFrame(side.focus);
}

function takeBackOpen() {
  const row = app.place.open === null ? null : app.row(app.place.open);
  const back = row === null ? null : takenBack(row, app.registration);
  if (back === "revoke") return does.revoke(row);
  if (back === "clear") return does.clearOne(row);
  return say("Nothing open that could be revoked or cleared.");
}

function close(typing, target) {
  if (typing) return target.blur();
  if (app.place.open === null) return false;
  return app.go({ open: null });
}

let forget = null;

/** Tell the reader what became of what they did. */
function say(text) {
  clearTimeout(forget);
  fill(at("said"), text);
  at("said").classList.add("shown");
  forget = setTimeout(() => at("said").classList.remove("shown"), SAID_MS);
}
