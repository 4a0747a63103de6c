// An opencode plugin that keeps what each hook is given and changes nothing: see recorder_hook.py.
import { writeFileSync } from "node:fs"

const folder = process.env.RECORDER_FOLDER
const heard = new Set(["session.created", "session.status", "session.idle", "session.compacted"])
let count = 0

function keep(hook, told) {
  const name = `${String(Date.now()).padStart(16, "0")}-${String(count++).padStart(6, "0")}-${hook}.json`
  writeFileSync(`${folder}/${name}`, JSON.stringify({ hook, ...told }))
}

export const Recorder = async ({ directory, worktree, serverUrl }) => {
  keep("plugin", { input: { directory, worktree, serverUrl } })
  const both = (hook) => [hook, async (input, output) => keep(hook, { input, output })]
  return {
    ...Object.fromEntries(
      [
        "chat.message",
        "tool.execute.before",
        "tool.execute.after",
        "experimental.chat.messages.transform",
        "experimental.session.compacting",
      ].map(both),
    ),
    event: async (input) => heard.has(input.event.type) && keep(`event.${input.event.type}`, { input }),
    "chat.params": async ({ sessionID, agent }, output) => keep("chat.params", { input: { sessionID, agent }, output }),
    dispose: async () => keep("dispose", {}),
  }
}
