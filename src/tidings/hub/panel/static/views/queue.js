/* What is on its way: every reminder that the hub holds or recently held, for whom, and how far it got. */

import { badge, fill, h, line, tagList } from "../dom.js";
import { Choosing } from "../choosing.js";
import { progress } from "../model/board.js";
import { addressText, progressText } from "../model/words.js";
import { clock, figure, oneLine } from "../text.js";
import { Windowed } from "../windowed.js";

const OPEN = new Set(["waiting", "leased"]);
const WORDS = {
  waiting: "waiting",
  leased: "with its host",
  acknowledged: "delivered",
  expired: "expired",
  revoked: "revoked",
};

/** Make the view; `does` holds what its buttons do: clear, send. */
export function queue(root, app, does) {
  const scroller = h("div", { class: "scroll queue" });
  const found = h("p", { class: "found" });
  const only = h("input", { type: "checkbox", id: "queue-open", onchange: draw });
  const clear = h("button", { type: "button", onclick: does.clear }, "Take back");
  const head = h(
    "header",
    { class: "view-head" },
    h("h1", {}, "On its way"),
    h("label", { class: "check" }, only, "only what is not delivered"),
    clear,
  );
  fill(root, head, found, scroller);
  const list = new Windowed(scroller, {
    key: (one) => one.id,
    version: (one) => `${one.version} ${progress(one)}`,
    draw: (one) => choosing.dress(option(one), one),
    estimate: 62,
  });
  const open = (one) => app.go({ open: one.id }, app.place.open !== null);
  const choosing = new Choosing(list, {
    label: "Reminders on their way",
    chosen: (one) => one.id === app.place.open,
    choose: open,
    moved: (one) => app.place.open !== null && open(one),
  });

  function draw() {
    if (root.hidden) return;
    const all = [...app.board.envelopes.values()].reverse();
    const waiting = all.filter((one) => OPEN.has(progress(one)));
    list.show(only.checked ? waiting : all);
    choosing.refresh();
    clear.disabled = waiting.length === 0;
    fill(
      found,
      all.length === 0
        ? [
            "The hub holds nothing. ",
            h("button", { type: "button", class: "link", onclick: does.send }, "Send a reminder"),
            " to see one.",
          ]
        : `${figure(waiting.length)} on their way, ${figure(all.length - waiting.length)} finished.`,
    );
  }

  app.on(["board", "place"], draw);
  return { draw, focus: () => scroller.focus() };
}

function option(envelope) {
  const state = progress(envelope);
  const body =
    oneLine((envelope.reminder.body ?? "").slice(0, 400)) ||
    h("em", {}, `${envelope.id}: finished before this page was opened`);
  return h(
    "div",
    { class: `reminder of-${state}`, "data-reminder": envelope.id },
    h("div", { class: "top" }, badge(state, WORDS[state]), h("span", { class: "body", dir: "auto" }, body)),
    h(
      "div",
      { class: "under" },
      envelope.acceptedMs ? h("time", {}, clock(envelope.acceptedMs)) : null,
      h("span", { class: "reason" }, `${addressText(envelope.to)}: ${progressText(envelope)}`),
      h(
        "span",
        { class: "apart" },
        envelope.origin ? line(envelope.origin) : null,
        tagList(envelope.reminder.tags ?? [], 3),
      ),
    ),
  );
}
