/* Consent: which conversation servers may see what, each with a switch that takes it back. Read from the
 * hub when the view is opened, like the ledger below it (`ledger.js`).
 */

import { get, post, Refused } from "../api.js";
import { confirm } from "../dialog.js";
import { fill, h, line } from "../dom.js";
import { moment } from "../text.js";
import { ledger } from "./ledger.js";

const SEES = {
  message: "the messages that you send",
  history: "the recent history beside them",
  assistant: "what the assistant answers",
};

/** Make the view; `say` is told what became of what the reader did. */
export function consent(root, app, say) {
  const grants = h("div", { class: "grants" });
  const sent = ledger();
  const again = h("button", { type: "button", onclick: load }, "Read again");
  const page = h(
    "div",
    { class: "scroll page", tabindex: "0", "aria-label": "Consent" },
    grants,
    sent.element,
  );
  fill(root, h("header", { class: "view-head" }, h("h1", {}, "Consent"), again), page);
  let opened = false;

  async function load() {
    try {
      show((await get("/v1/grants")).grants);
      await sent.load();
    } catch (error) {
      const missing = error instanceof Refused && error.status === 404;
      fill(
        grants,
        h("p", { class: "remark" }, missing ? "This hub has no consents to show." : error.message),
      );
    }
  }

  function show(given) {
    fill(grants, given.length === 0 ? nobody() : given.map(grant));
  }

  function grant(one) {
    const where = one.project === null ? "everywhere" : ["in ", line(one.project, { class: "path" })];
    const used = one.lastUsedMs === null ? "never used" : `last used ${moment(one.lastUsedMs)}`;
    const scopes = one.scopes.length === 0 ? h("p", { class: "remark" }, "It sees nothing here.") : null;
    return h(
      "section",
      { class: "grant" },
      h("h2", {}, line(one.server), one.what ? line(one.what, { class: "mono" }) : null),
      h("p", { class: "under" }, where, ` · since ${moment(one.grantedMs)} · ${used}`),
      scopes ?? one.scopes.map((name) => scope(one, name)),
    );
  }

  function scope(one, name) {
    const text = SEES[name] ?? name;
    const label = `${one.server} sees ${text}`;
    const shared = {
      type: "button",
      role: "switch",
      class: "switch",
      "aria-checked": "true",
      "aria-label": label,
    };
    const turn = h(
      "button",
      { ...shared, onclick: () => revoke(one, name) },
      h("i", { "aria-hidden": "true" }),
    );
    return h("div", { class: "scope" }, turn, h("span", {}, `sees ${text}`));
  }

  /** Ask, then take one scope back; without `message` nothing is left. */
  function revoke(one, name) {
    const all = name === "message" || one.scopes.length === 1;
    const gone = all ? one.scopes : [name];
    confirm({
      title: `Take this back from ${one.server}?`,
      text: "From now on, in every project and also in agents that run, it no longer sees:",
      inside: h(
        "ul",
        { class: "named" },
        gone.map((each) => h("li", {}, SEES[each] ?? each)),
      ),
      button: "Take it back",
      async act() {
        const left = await post("/v1/grants/revoke", {
          server: one.server,
          ...(all ? {} : { scope: name }),
        });
        say(all ? `${one.server} sees nothing any more.` : `${one.server} sees less from now on.`);
        show(left.grants);
        await sent.load();
      },
    });
  }

  function draw() {
    const here = !root.hidden && app.signedIn === true;
    if (here && !opened) load();
    opened = here;
  }

  app.on(["place", "sign-in"], draw);
  return { draw, focus: () => page.focus() };
}

function nobody() {
  const how = ["Let one in a terminal: ", h("code", {}, "tidings consent grant SERVER"), "."];
  return h("p", { class: "remark" }, "No server may see your conversations. ", how);
}
