// The official TypeScript SDK's client, driven over lines of JSON: it connects to a server, asks for reminders,
// and tells what it hears. Usage: node mcp_client.mjs PACKAGE legacy|auto|VERSION URL|COMMAND [ARGUMENT…]
//
// In:  {id, method: "tools/call" | "resources/subscribe" | "unlisten" | "pid", params}
// Out: {event: "connected", version, capabilities} · {event: "listening", honored} · {event: "closed", how}
//      {event: "reminder", params} · {event: "updated", params} · {event: "reply", id, result | error}
// Whatever the SDK itself has to complain about goes to stderr.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, mode, target, ...args] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/dist/${name}.mjs`));
const { Client, StreamableHTTPClientTransport } = await load("index");
const { StdioClientTransport } = await load("stdio");
const tell = (event, more) => process.stdout.write(JSON.stringify({ event, ...more }) + "\n");

const EXTENSION = "dev.tidings/reminders";
const asIs = { "~standard": { version: 1, vendor: "tidings", validate: (value) => ({ value }) } };
const modes = { legacy: "legacy", auto: "auto" };
const client = new Client(
  { name: "tidings-interop", version: "1" },
  {
    capabilities: { extensions: { [EXTENSION]: {} } },
    versionNegotiation: { mode: modes[mode] ?? { pin: mode } },
  },
);
client.onerror = (error) => console.error(String(error));
client.setNotificationHandler("notifications/reminder", { params: asIs }, (params) => tell("reminder", { params }));
client.setNotificationHandler("notifications/resources/updated", ({ params }) => tell("updated", { params }));

const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env, stderr: "inherit" });
await client.connect(transport);
const version = client.getNegotiatedProtocolVersion();
tell("connected", { version, capabilities: client.getServerCapabilities() });

let subscription;
if (version >= "2026") {
  const filter = { [EXTENSION]: { session: "interop" }, resourceSubscriptions: ["file:///build.log"] };
  subscription = await client.listen(filter);
  subscription.closed.then((how) => tell("closed", { how }));
  tell("listening", { honored: subscription.honoredFilter });
}

const orders = {
  "tools/call": (params) => client.callTool(params),
  "resources/subscribe": (params) => client.subscribeResource(params),
  unlisten: async () => await subscription.close(),
  pid: () => transport.pid,
};

async function follow({ id, method, params }) {
  try {
    tell("reply", { id, result: (await orders[method](params)) ?? null });
  } catch (error) {
    tell("reply", { id, error: { code: error.code, message: error.message, data: error.data } });
  }
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => follow(JSON.parse(line)));
lines.on("close", async () => {
  await client.close();
  process.exit(0);
});
