/* The ledger: what each conversation server was sent, when and how much. The user's words are not in it. */

import { get } from "../api.js";
import { fill, h, line } from "../dom.js";
import { counted, figure, moment } from "../text.js";

const ENTRIES = 200;
const COLUMNS = ["Time", "Server", "What", "Size", "Project"];

/** Make it; `load` reads it from the hub. */
export function ledger() {
  const server = h("select", { "aria-label": "Server", onchange: load });
  const list = h("div", { class: "ledger" });
  const head = h("div", { class: "section-head" }, h("h2", {}, "What they were sent"), server);
  const names = new Set();

  async function load() {
    const { entries } = await get("/v1/ledger", { limit: ENTRIES, server: server.value || null });
    for (const one of entries) names.add(one.server);
    offer();
    fill(list, entries.length === 0 ? h("p", { class: "remark" }, "Nothing was sent.") : table(entries));
  }

  function offer() {
    const chosen = server.value;
    const options = [...names].sort().map((name) => h("option", { value: name }, name));
    fill(server, h("option", { value: "" }, "All servers"), options);
    server.value = chosen;
  }

  return { element: h("section", {}, head, list), load };
}

function table(entries) {
  const head = COLUMNS.map((name) => h("th", { scope: "col" }, name));
  const rows = [...entries].reverse().map((one) =>
    h(
      "tr",
      {},
      cells(one).map((cell) => h("td", {}, cell)),
    ),
  );
  const text = `${counted(entries.length, "entry", "entries")}; your words are not among them.`;
  return [
    h("p", { class: "remark" }, text),
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
  ];
}

function cells({ kind, atMs, server, payload }) {
  const { event, scopes = [], bytes, project } = payload;
  const what = kind.endsWith(".sent") ? (event ?? "sent") : kind.split(".").at(-1);
  return [
    h("time", {}, moment(atMs)),
    line(server),
    [line(what), scopes.length ? h("span", { class: "under" }, ` ${scopes.join(", ")}`) : null],
    bytes === undefined ? "" : `${figure(bytes)} bytes`,
    project ? line(project, { class: "path" }) : "everywhere",
  ];
}
