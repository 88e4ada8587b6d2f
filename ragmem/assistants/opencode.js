// The hooks of ragmem for OpenCode, written by `ragmem connect opencode`.
// `ragmem disconnect opencode` takes it away again, unless somebody has changed it.
import { spawn } from "node:child_process"
import { readdirSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"

const PROGRAM = "@PROGRAM@"
const VARIABLES = "@VARIABLES@"
const TIMEOUT = "@TIMEOUT@"
const LONGEST = 65536

// The tools that matter, by the names that hooks know.
const RESEARCH = { task: "Task", webfetch: "WebFetch", websearch: "WebSearch", grep: "Grep", glob: "Glob" }
const WRITING = { write: "Write", edit: "Edit" }
const READING = { read: "Read" }
const RUNNING = { bash: "Bash" }

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

// The database of all sessions; "" without one. Versions that are tried out have a name of their own.
function database() {
  const folder = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode")
  if (process.env.OPENCODE_DB) return resolve(folder, process.env.OPENCODE_DB)
  try {
    const files = readdirSync(folder).filter((name) => /^opencode.*\.db$/.test(name))
    const changed = (name) => statSync(join(folder, name)).mtimeMs
    const latest = files.sort((one, other) => changed(other) - changed(one))[0]
    return latest ? join(folder, latest) : ""
  } catch {
    return ""
  }
}

export const Ragmem = async ({ directory }) => {
  // Sessions that were told their beginning, that began or were compacted while this runs, and of subagents.
  const begun = new Set()
  const fresh = new Set()
  const children = new Set()
  // What is told: with a message of the person, by its id; behind the result of a tool, by its call.
  const prompts = new Map()
  const told = new Map()
  const about = (session) => ({ session_id: session, cwd: directory })
  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      const session = event.properties?.sessionID
      if (event.type === "session.created" && info) (info.parentID ? children : fresh).add(info.id)
      if (event.type === "session.compacted") begun.delete(session) && fresh.delete(session)
      if (event.type === "session.idle" && !children.has(session)) {
        await hook("Stop", { ...about(session), transcript_path: database() })
      }
    },
    "chat.message": async (input, output) => {
      const session = input.sessionID
      // A subagent's session: what it is to know, its parent tells it.
      if (children.has(session)) return
      const prompt = output.parts
        .filter((part) => part.type === "text" && !part.synthetic)
        .map((part) => part.text)
        .join("\n")
      const texts = []
      if (!begun.has(session)) {
        begun.add(session)
        // What was told before this began, or before a compaction, is sent no more.
        const source = fresh.has(session) ? "startup" : "compact"
        texts.push(await context("SessionStart", { ...about(session), source }))
      }
      texts.push(await context("UserPromptSubmit", { ...about(session), prompt }))
      const text = texts.filter(Boolean).join("\n\n")
      if (text) prompts.set(output.message.id, text)
    },
    "experimental.chat.messages.transform": async (_input, output) => {
      // Not a part of the stored message, since that is also sent with the request for a title.
      for (const { info, parts } of output.messages) {
        const text = prompts.get(info.id)
        if (!text) continue
        const id = `prt_ragmem${info.id}`
        if (parts.some((part) => part.id === id)) continue
        parts.push({ id, sessionID: info.sessionID, messageID: info.id, type: "text", text, synthetic: true })
      }
    },
    "tool.execute.before": async (input, output) => {
      const name = RESEARCH[input.tool] ?? WRITING[input.tool]
      if (!name || children.has(input.sessionID)) return
      const fields = { ...about(input.sessionID), tool_name: name, tool_input: output.args ?? {} }
      const text = await context("PreToolUse", fields)
      if (text) told.set(input.callID, text)
    },
    "tool.execute.after": async (input, output) => {
      // Nothing can be said before a tool runs: it is said behind what the tool found.
      const texts = [told.get(input.callID)]
      told.delete(input.callID)
      const code = output?.metadata?.exit
      const name = WRITING[input.tool] ?? READING[input.tool] ?? (code ? RUNNING[input.tool] : undefined)
      if (name) {
        const response = { output: output?.output, exit_code: code }
        const fields = { tool_name: name, tool_input: input.args ?? {}, tool_response: response }
        texts.push(await context("PostToolUse", { ...about(input.sessionID), ...fields }))
      }
      const text = texts.filter(Boolean).join("\n\n")
      if (text && typeof output?.output === "string") output.output += `\n\n${text}`
    },
  }
}
