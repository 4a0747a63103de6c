// Loads the plugin as opencode does, plays hooks from stdin (one JSON line each) and prints what came of each.
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"

const { TidingsPlugin } = await import(pathToFileURL(process.argv[2]).href)
const prompts = []
const client = {
  session: {
    get: async ({ path }) => {
      if (path.id === "unknown") return { error: "not now" }
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
