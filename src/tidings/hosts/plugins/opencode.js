// Tidings plugin for opencode. `tidings connect opencode` writes it, `tidings disconnect opencode` removes it.
//
// It tells the hub what happens in a session, and adds what waits there: to a prompt, behind a tool's output,
// or as the reason why a call is not run. It speaks to the hub's socket, which only its owner can reach. If
// the hub is down or slow, opencode works as if this file were not here.

import { lstatSync, realpathSync } from "node:fs"
import { createConnection } from "node:net"
import { homedir } from "node:os"
import { join, resolve } from "node:path"

const OPTIONS = { home: null, wake: false }

const HOST = "opencode"
const SECONDS = 1
const FAMILY_SECONDS = 0.3
const ASK_AGAIN_SECONDS = 0.05
const WAIT_SECONDS = 50
const PAUSE_SECONDS = 5
const LONGEST_ANSWER = 4 * 1024 * 1024
const KNOWN_SESSIONS = 1000
const SIDE_REQUESTS = ["title", "summary", "compaction"]
const RUNS_ONCE = process.argv.includes("run")

function mark(text) {
  let crc = ~0
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (~crc >>> 0).toString(16).padStart(8, "0")
}

function real(path) {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

function socketPath() {
  const env = process.env
  const base = env.XDG_DATA_HOME || join(env.HOME || homedir(), ".local", "share")
  const home = real(OPTIONS.home || env.TIDINGS_HOME || join(base, "tidings"))
  const user = process.getuid()
  const folder = env.XDG_RUNTIME_DIR
    ? join(env.XDG_RUNTIME_DIR, "tidings")
    : join(env.TMPDIR || "/tmp", `tidings-${user}`)
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== user || found.mode & 0o077) throw new Error("not a private folder")
  return join(folder, `hub-${mark(home)}.socket`)
}

// Of a tool's arguments only those that name a file: the hub leaves out news of what the agent wrote itself.
function named(args) {
  const { filePath, patchText } = args ?? {}
  return { filePath, patchText }
}

function rest(seconds) {
  return new Promise((done) => setTimeout(done, seconds * 1000))
}

// What a call of opencode's own gives; null when it fails or takes too long.
function within(seconds, call) {
  return new Promise((done) => {
    const timer = setTimeout(() => done(null), seconds * 1000)
    const end = (found) => {
      clearTimeout(timer)
      done(found ?? null)
    }
    Promise.resolve().then(call).then(end, () => end(null))
  })
}

// One call to the hub; null when nobody answers in time.
function ask(method, params, seconds) {
  return new Promise((done) => {
    let peer
    const timer = setTimeout(() => end(null), seconds * 1000)
    const end = (result) => {
      clearTimeout(timer)
      if (peer) peer.destroy()
      done(result)
    }
    try {
      let received = ""
      peer = createConnection(socketPath())
      peer.setEncoding("utf8")
      peer.on("error", () => end(null))
      peer.on("close", () => end(null))
      peer.on("connect", () => peer.write(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) + "\n"))
      peer.on("data", (part) => {
        received += part
        if (received.length > LONGEST_ANSWER) return end(null)
        const cut = received.indexOf("\n")
        if (cut < 0) return
        try {
          end(JSON.parse(received.slice(0, cut)).result ?? null)
        } catch {
          end(null)
        }
      })
    } catch {
      end(null)
    }
  })
}

export const TidingsPlugin = async ({ client, directory }) => {
  const parents = new Map()
  const continued = new Set()
  const waiting = new Set()

  function learn(id, parent) {
    parents.set(id, parent || null)
    if (parents.size > KNOWN_SESSIONS) parents.delete(parents.keys().next().value)
  }

  // The parent of a session, null when it has none. opencode is asked until it says, or it is too late: then
  // it is undefined, which is not the same as having none.
  async function parentOf(id) {
    const until = Date.now() + FAMILY_SECONDS * 1000
    while (!parents.has(id) && Date.now() < until) {
      const found = await within(FAMILY_SECONDS, () => client.session.get({ path: { id } }))
      if (found?.data?.id) learn(id, found.data.parentID)
      else await rest(ASK_AGAIN_SECONDS)
    }
    return parents.get(id)
  }

  // The outermost session, and the child if this is one; null when that cannot be known in time.
  async function family(id) {
    let root = id
    for (let depth = 0; depth < 16; depth++) {
      const above = await parentOf(root)
      if (above === undefined) return null
      if (above === null) return root === id ? { session_id: root } : { session_id: root, agent_id: id }
      root = above
    }
    return null
  }

  async function eventOf(name, id, more) {
    const who = await family(id)
    return who && { hook_event_name: name, cwd: directory, ...who, ...more }
  }

  async function drain(name, id, more = {}) {
    if (!id) return {}
    const until = Date.now() + SECONDS * 900
    const event = await eventOf(name, id, more)
    if (!event) return {}
    const result = await ask("hub/drain", { host: HOST, event, untilMs: until }, SECONDS)
    return result?.answer ?? {}
  }

  async function prompt(id, text) {
    continued.add(id)
    try {
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", synthetic: true, text }] } })
    } catch {
      continued.delete(id)
    }
  }

  // Waits beside an idle session until something urgent comes, or the session goes on.
  async function wake(id) {
    if (waiting.has(id)) return
    waiting.add(id)
    try {
      for (;;) {
        const event = await eventOf("session.idle", id, {})
        if (!event) return
        const asked = { host: HOST, event, waitSeconds: WAIT_SECONDS }
        const told = await ask("hub/wake", asked, WAIT_SECONDS + 10)
        if (told?.over) return
        if (!told) await rest(PAUSE_SECONDS)
        if (!told?.news) continue
        const news = await drain("tidings.wake", id)
        if (news.text) return await prompt(id, news.text)
      }
    } finally {
      waiting.delete(id)
    }
  }

  async function idle(id) {
    const told = await drain("session.idle", id, { cannot_go_on: RUNS_ONCE })
    if (told.text) return await prompt(id, told.text)
    if (OPTIONS.wake && !RUNS_ONCE && parents.get(id) === null) wake(id).catch(() => {})
  }

  return {
    dispose: async () => {
      const own = [...parents].filter(([, parent]) => !parent).map(([id]) => id)
      await Promise.all(own.map((id) => drain("dispose", id)))
    },
    event: async ({ event }) => {
      const about = event?.properties ?? {}
      const id = about.sessionID ?? about.info?.id
      if (event?.type === "session.created") {
        if (about.info) learn(id, about.info.parentID)
        await drain("session.created", id)
      } else if (event?.type === "session.idle") {
        await idle(id)
      } else if (event?.type === "session.compacted" || event?.type === "session.deleted") {
        await drain(event.type, id)
      }
    },
    "chat.message": async (input, output) => {
      if (continued.delete(input.sessionID)) return
      const told = await drain("chat.message", input.sessionID)
      const last = output?.parts?.at(-1)
      if (!told.text || !last?.id) return
      output.parts.push({
        id: `${last.id}t`,
        sessionID: input.sessionID,
        messageID: output.message.id,
        type: "text",
        text: told.text,
        synthetic: true,
      })
    },
    "chat.params": async (input) => {
      if (!SIDE_REQUESTS.includes(input.agent?.name ?? input.agent)) await drain("chat.params", input.sessionID)
    },
    "tool.execute.before": async (input) => {
      const told = await drain("tool.execute.before", input.sessionID, { call_id: input.callID })
      if (told.decline) throw new Error(told.text ? `${told.decline}\n\n${told.text}` : told.decline)
    },
    "tool.execute.after": async (input, output) => {
      const did = { call_id: input.callID, tool_name: input.tool, tool_input: named(input.args), tool_response: "" }
      const told = await drain("tool.execute.after", input.sessionID, did)
      if (told.text && typeof output?.output === "string") output.output += `\n\n${told.text}`
    },
  }
}
