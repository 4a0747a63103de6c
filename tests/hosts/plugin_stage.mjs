// Loads the plugin as opencode does, plays hooks from stdin (one JSON line each) and prints what came of each.
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"

const { TidingsPlugin } = await import(pathToFileURL(process.argv[2]).href)
const prompts = []
const asked = []
const client = {
  session: {
    get: async ({ path }) => {
      asked.push(path.id)
      if (path.id === "unknown") return { error: "not now" }
      if (path.id === "broken") throw new Error("no such session")
      if (path.id === "silent") return new Promise(() => {})
      if (path.id === "child-late" && asked.length < 3) return { error: "not yet" }
      return { data: { id: path.id, parentID: path.id.startsWith("child") ? "s1" : undefined } }
    },
    promptAsync: async (sent) => void prompts.push(sent),
  },
}
const hooks = await TidingsPlugin({ client, directory: "/workspace/harbor" })
for await (const line of createInterface({ input: process.stdin })) {
  const { hook, input, output } = JSON.parse(line)
  let thrown = null
  try {
    await hooks[hook]?.(input, output)
  } catch (error) {
    thrown = error.message
  }
  console.log(JSON.stringify({ output, thrown, prompts: prompts.splice(0) }))
}
await hooks.dispose()
