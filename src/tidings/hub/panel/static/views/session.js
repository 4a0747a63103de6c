/* The session that is shown: who works where, its tabs, the filter, and the view of the chosen tab. */

import { badge, fill, foldAll, h, line, tagList } from "../dom.js";
import { NOTHING, parts } from "../model/filter.js";
import { STATES } from "../model/reminder.js";
import { deliveryText, shortKind } from "../model/words.js";
import { TABS } from "../place.js";
import { counted, figure, moment, shortId } from "../text.js";
import { records } from "./records.js";
import { reminders } from "./reminders.js";
import { timeline } from "./timeline.js";
import { transcript } from "./transcript.js";

const VIEWS = { transcript, reminders, timeline, records };
const NAMES = {
  transcript: "Transcript",
  reminders: "Reminders",
  timeline: "Timeline",
  records: "Records",
};

/** Make the view of a session. */
export function session(root, app) {
  const head = h("header", { class: "session-head" });
  const tabs = h("div", {
    class: "tabs",
    role: "tablist",
    "aria-label": "Parts of the session",
    onkeydown: turnTab,
  });
  const buttons = Object.fromEntries(TABS.map((tab) => [tab, tabButton(tab)]));
  tabs.append(...Object.values(buttons));
  const finder = filterBar(app);
  const panels = Object.fromEntries(
    TABS.map((tab) => [
      tab,
      h("div", {
        class: `panel ${tab}-panel`,
        id: `panel-${tab}`,
        role: "tabpanel",
        "aria-label": NAMES[tab],
        hidden: true,
      }),
    ]),
  );
  const made = {};
  const loading = h("p", { class: "found", role: "status" });
  fill(
    root,
    head,
    h("div", { class: "session-tools" }, tabs, finder.element),
    loading,
    Object.values(panels),
  );
  let shown = null;

  function draw() {
    const { session: one, place } = app;
    if (root.hidden || one === null) return;
    drawHead(head, app);
    drawTabs();
    finder.draw();
    for (const tab of TABS) panels[tab].hidden = tab !== place.tab;
    const fresh = shown !== one.id;
    if (fresh) {
      foldAll();
      for (const tab of TABS) {
        delete made[tab];
        fill(panels[tab]);
      }
      shown = one.id;
    }
    made[place.tab] ??= VIEWS[place.tab](panels[place.tab], app);
    drawLoading(loading, app.following);
    if (loading.hidden) made[place.tab].draw();
  }

  function drawTabs() {
    const counts = {
      reminders: app.rows().length,
      records: app.session.records.length,
      transcript: app.session.shownTurn,
    };
    for (const tab of TABS) {
      const here = app.place.tab === tab;
      buttons[tab].setAttribute("aria-selected", String(here));
      buttons[tab].tabIndex = here ? 0 : -1;
      fill(
        buttons[tab],
        NAMES[tab],
        counts[tab] ? h("span", { class: "count" }, figure(counts[tab])) : null,
      );
    }
  }

  function tabButton(tab) {
    const shared = { type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": `panel-${tab}` };
    return h("button", { ...shared, onclick: () => open(tab) });
  }

  /** Change the tab; an open reminder stays open, an open record does not. */
  function open(tab) {
    const keeps = (tab === "records") === (app.place.tab === "records");
    app.go({ tab, ...(keeps ? {} : { open: null }) });
  }

  function turnTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = TABS[(TABS.indexOf(app.place.tab) + step + TABS.length) % TABS.length];
    open(next);
    buttons[next].focus();
  }

  app.on(["session", "board", "place", "filter"], draw);
  return { draw, open, search: () => finder.focus(), focus: () => made[app.place.tab]?.focus() };
}

function drawHead(root, app) {
  const { session: one, registration: known } = app;
  const back = h(
    "button",
    {
      type: "button",
      class: "back link",
      "data-key": "back",
      onclick: () => app.go({ sessionId: null, open: null }),
    },
    "All sessions",
  );
  const name = known?.agent ? line(known.agent) : shortId(one.id);
  const warned = one.notes.length;
  const facts = [
    known?.workspace ? line(known.workspace, { class: "path" }) : null,
    line(one.id, { class: "mono" }),
    known ? h("span", { title: deliveryText(known.delivery) }, `delivery: ${known.delivery}`) : null,
    known?.startedMs ? h("span", {}, `since ${moment(known.startedMs)}`) : null,
    known?.endedMs ? h("span", {}, `ended ${moment(known.endedMs)}`) : null,
    warned ? h("span", { class: "warned" }, counted(warned, "warning")) : null,
    known ? tagList(known.tags) : null,
  ];
  const title = h("h1", {}, name, known ? badge(known.state) : null);
  fill(root, back, title, h("div", { class: "session-facts" }, facts));
}

/** While records are loaded, only how many; what they give is drawn once. */
function drawLoading(root, following) {
  const { first, latest, session: one } = following;
  root.hidden = !following.loading;
  const count = figure(Math.max(one.records.length, latest - first));
  fill(root, one.records.length ? `Loading ${figure(one.records.length)} of ${count} records` : "Loading");
}

/** Search and selects; `draw` offers what the session has. */
function filterBar(app) {
  const search = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search",
    "aria-label": "Search",
    autocomplete: "off",
    oninput: () => app.setFilter({ text: search.value }),
  });
  const selects = Object.fromEntries(
    ["tag", "source", "state", "kind"].map((name) => [name, select(name, app)]),
  );
  const clear = h(
    "button",
    { type: "button", class: "link", onclick: () => app.setFilter(NOTHING) },
    "Clear filter",
  );
  const more = h(
    "details",
    { class: "more-filters" },
    h("summary", {}, "Filter"),
    h("div", { class: "selects" }, Object.values(selects), clear),
  );
  const element = h("search", { class: "filter" }, search, more);

  function draw() {
    const { session: one, filter } = app;
    if (document.activeElement !== search) search.value = filter.text;
    offer(selects.tag, "Any tag", [...one.tags.keys()].sort(), filter.tag);
    offer(selects.source, "Any source", [...one.sources.keys()].sort(), filter.source);
    offer(selects.state, "Any state", ["active", ...Object.keys(STATES)], filter.state);
    offer(selects.kind, "Any kind", [...one.kinds.keys()].sort(), filter.kind, shortKind);
    more.firstElementChild.textContent = parts(filter) ? `Filter (${parts(filter)})` : "Filter";
    clear.hidden = !filter.text && parts(filter) === 0;
  }

  return { element, draw, focus: () => search.focus() };
}

function select(name, app) {
  const element = h("select", {
    "aria-label": `Filter by ${name}`,
    "data-filter": name,
    onchange: () => app.setFilter({ [name]: element.value }),
  });
  return element;
}

function offer(element, nothing, values, chosen, text = (value) => value) {
  const mark = JSON.stringify([values, chosen]);
  if (element.mark === mark || document.activeElement === element) return;
  element.mark = mark;
  const offered = chosen && !values.includes(chosen) ? [...values, chosen] : values;
  fill(
    element,
    h("option", { value: "" }, nothing),
    offered.map((value) => h("option", { value }, text(value))),
  );
  element.value = chosen;
}
