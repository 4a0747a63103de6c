// The official SDK's client, driven over lines of JSON: what a test writes to stdin is sent to the agent,
// what the agent says is written to stdout. Usage: node driver.mjs SDK_MODULE AGENT [ARGUMENT…]
//
// In:  {id, method, params} a request · {method, params} a notification
// Out: {event: "wire", message} every message as it came · {event: "update", params} what the SDK let through
//      {event: "permission", params} asked and allowed once · {event: "reply", id, result | error}
//      {event: "agent", text} a line of the agent's stderr · {event: "ended", code} it has gone
// Whatever the SDK itself has to complain about goes to stderr.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";

const [sdkModule, command, ...args] = process.argv.slice(2);
const acp = await import(sdkModule);
const tell = (event, more) => process.stdout.write(JSON.stringify({ event, ...more }) + "\n");

const agent = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
agent.on("error", (error) => tell("ended", { code: String(error) }));
agent.on("exit", (code, signal) => tell("ended", { code: code ?? signal }));
createInterface({ input: agent.stderr }).on("line", (text) => tell("agent", { text }));

const wire = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const tapped = new TransformStream({
  transform(message, controller) {
    tell("wire", { message });
    controller.enqueue(message);
  },
});
const stream = { writable: wire.writable, readable: wire.readable.pipeThrough(tapped) };

function allowOnce({ params }) {
  tell("permission", { params });
  const option = params.options.find(({ kind }) => kind === "allow_once") ?? params.options[0];
  return { outcome: { outcome: "selected", optionId: option.optionId } };
}

const connection = acp
  .client({ name: "tidings-interop" })
  .onRequest(acp.methods.client.session.requestPermission, allowOnce)
  .onNotification(acp.methods.client.session.update, ({ params }) => tell("update", { params }))
  .connect(stream);

async function request({ id, method, params }) {
  try {
    tell("reply", { id, result: await connection.agent.request(method, params) });
  } catch (error) {
    tell("reply", { id, error: { code: error.code, message: error.message, data: error.data } });
  }
}

const orders = createInterface({ input: process.stdin });
orders.on("line", (line) => {
  const order = JSON.parse(line);
  if (order.id === undefined) connection.agent.notify(order.method, order.params);
  else request(order);
});
orders.on("close", () => {
  agent.stdin.end();
  const grace = setTimeout(() => agent.kill("SIGKILL"), 15000);
  agent.on("exit", () => {
    clearTimeout(grace);
    process.exit(0);
  });
  if (agent.exitCode !== null || agent.signalCode !== null) process.exit(0);
});
