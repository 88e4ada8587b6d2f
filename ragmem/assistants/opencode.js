// The hooks of ragmem for OpenCode, written by `ragmem connect opencode`.
// `ragmem disconnect opencode` takes it away again, unless somebody has changed it.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"
const VARIABLES = "@VARIABLES@"
const TIMEOUT = "@TIMEOUT@"
const LONGEST = 65536

// The tools that matter, by the names that hooks know.
const RESEARCH = { task: "Task", webfetch: "WebFetch", websearch: "WebSearch", grep: "Grep", glob: "Glob" }
const WRITING = { write: "Write", edit: "Edit" }

// Calls a hook and gives what it prints; "" when it fails, is missing, or takes too long.
function hook(event, fields) {
  return new Promise((resolve) => {
    let printed = ""
    let child
    let timer
    const finish = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    try {
      child = spawn(PROGRAM[0], [...PROGRAM.slice(1), "hook", event, "--for", "opencode"], {
        stdio: ["pipe", "pipe", "ignore"],
        env: { ...process.env, ...VARIABLES },
      })
    } catch {
      return finish("")
    }
    timer = setTimeout(() => {
      child.kill("SIGKILL")
      finish("")
    }, TIMEOUT)
    child.on("error", () => finish(""))
    child.on("close", () => finish(printed))
    child.stdout.on("data", (data) => {
      if (printed.length < LONGEST) printed += data
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ hook_event_name: event, ...fields }))
  })
}

async function context(event, fields) {
  try {
    const answer = JSON.parse(await hook(event, fields))
    return answer?.hookSpecificOutput?.additionalContext ?? ""
  } catch {
    return ""
  }
}

export const Ragmem = async ({ directory }) => {
  const begun = new Set()
  const children = new Set()
  const told = new Map()
  const written = new Map()
  let number = 0
  return {
    event: async ({ event }) => {
      // A subagent's session: what it is to know, its parent tells it.
      const info = event.properties?.info
      if (event.type === "session.created" && info?.parentID) children.add(info.id)
    },
    "chat.message": async (input, output) => {
      const session = input.sessionID
      if (children.has(session)) return
      const fields = { session_id: session, cwd: directory }
      const prompt = output.parts
        .filter((part) => part.type === "text" && !part.synthetic)
        .map((part) => part.text)
        .join("\n")
      const texts = []
      if (!begun.has(session)) {
        begun.add(session)
        texts.push(await context("SessionStart", { ...fields, source: "startup" }))
      }
      texts.push(await context("UserPromptSubmit", { ...fields, prompt }))
      const text = texts.filter(Boolean).join("\n\n")
      if (!text) return
      number += 1
      output.parts.push({
        id: `prt_ragmem${Date.now()}${number}`,
        sessionID: session,
        messageID: output.message.id,
        type: "text",
        text,
        synthetic: true,
      })
    },
    "tool.execute.before": async (input, output) => {
      const args = output.args ?? {}
      if (WRITING[input.tool]) written.set(input.callID, args)
      const name = RESEARCH[input.tool]
      if (!name || children.has(input.sessionID)) return
      const fields = { session_id: input.sessionID, cwd: directory, tool_name: name, tool_input: args }
      const text = await context("PreToolUse", fields)
      if (text) told.set(input.callID, text)
    },
    "tool.execute.after": async (input, output) => {
      // Nothing can be said before a tool runs: it is said behind what the tool found.
      const text = told.get(input.callID)
      if (text && typeof output?.output === "string") output.output += `\n\n${text}`
      told.delete(input.callID)
      const args = written.get(input.callID)
      written.delete(input.callID)
      if (!args) return
      const fields = { session_id: input.sessionID, cwd: directory }
      await hook("PostToolUse", { ...fields, tool_name: WRITING[input.tool], tool_input: args })
    },
  }
}
