/* The bar at the top: where the reader can go, how the connection is, and what can be done from
 * everywhere.
 */

import { fill, h } from "../dom.js";
import { figure } from "../text.js";
import { nextTheme, theme } from "../theme.js";

const PLACES = [
  ["sessions", "Sessions"],
  ["queue", "On its way"],
  ["consent", "Consent"],
  ["workspaces", "Workspaces"],
];
const CONNECTION = {
  live: ["Live", "Records arrive as they are written."],
  connecting: ["Connecting", "The hub is being asked."],
  waiting: ["Reconnecting", "The hub does not answer. Press to try now; nothing is lost meanwhile."],
  resting: ["Paused", "A page that nobody sees follows nothing; it goes on when you look."],
};
const THEMES = { system: "Auto", light: "Light", dark: "Dark" };

/** Draw the bar; `does` holds what its buttons do: send, help. */
export function bar(root, app, does) {
  const count = h("span", { class: "count" });
  const links = Object.fromEntries(PLACES.map(([view, label]) => [view, link(view, label)]));
  const nav = h("nav", { class: "places", "aria-label": "Views" }, Object.values(links));
  const state = h("button", { type: "button", class: "connection", onclick: () => app.retry() });
  const shade = h("button", { type: "button", class: "plain", onclick: () => name(nextTheme()) });
  const send = h("button", { type: "button", class: "primary", id: "send", onclick: does.send }, "Send");
  const help = h(
    "button",
    { type: "button", class: "plain", title: "Keys and meanings (?)", onclick: does.help },
    "Help",
  );
  const title = h("span", { class: "wordmark" }, "Tidings");
  fill(root, title, nav, h("div", { class: "tools" }, state, shade, help, send));

  function name(choice) {
    fill(shade, h("i", { class: "shade-mark", "aria-hidden": "true" }), THEMES[choice]);
    shade.title = "Colours: as the system says, light, or dark (t)";
    shade.setAttribute("aria-label", `Colours: ${THEMES[choice]}; press to change`);
  }

  function draw() {
    root.hidden = app.signedIn === false;
    const { waiting } = app.board;
    for (const [view, element] of Object.entries(links)) mark(element, app.place.view === view);
    fill(count, waiting > 0 ? figure(waiting) : "");
    count.hidden = waiting === 0;
    const [word, meaning] = CONNECTION[app.connection];
    state.className = `connection is-${app.connection}`;
    state.title = meaning;
    fill(state, h("i", { class: "mark", "aria-hidden": "true" }), h("span", {}, word));
    state.setAttribute("aria-label", `Connection: ${word}. ${meaning}`);
  }

  function link(view, label) {
    const go = (event) => {
      event.preventDefault();
      app.go({ view, open: null });
    };
    return h(
      "a",
      { href: `#/${view}`, "data-view": view, onclick: go },
      label,
      view === "queue" ? count : null,
    );
  }

  name(theme());
  app.on(["board", "place", "connection", "sign-in"], draw);
  draw();
  return { nextTheme: () => name(nextTheme()) };
}

function mark(element, here) {
  if (here) element.setAttribute("aria-current", "page");
  else element.removeAttribute("aria-current");
}
