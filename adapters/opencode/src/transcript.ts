// opencode's messages as Chat Completions, and what is rendered as opencode's messages again. Nothing given is changed.

import type { Message, Part, ToolPart } from "@opencode-ai/sdk"
import type { Chat, Rendered } from "./server.js"

export type Item = { info: Message; parts: Part[] }
// Where a chat message comes from: a whole message, or the tool part that holds its result.
type Source = { item: number; part?: number }

const FINISHED = ["completed", "error"]

function outputOf(part: ToolPart): string {
  const { state } = part
  return state.status === "completed" ? state.output : state.status === "error" ? state.error : ""
}

function textOf(parts: Part[]): string {
  return parts.flatMap((part) => (part.type === "text" && !part.ignored ? [part.text] : [])).join("\n")
}

export function chatMessages(items: Item[]): { sent: Chat[]; sources: Source[] } {
  const sent: Chat[] = []
  const sources: Source[] = []
  items.forEach((item, number) => {
    const tools = item.parts.flatMap((part, at) => (part.type === "tool" ? [{ part, at }] : []))
    const message: Chat = { role: item.info.role, content: textOf(item.parts) }
    if (tools.length)
      message.tool_calls = tools.map(({ part }) => ({
        id: part.callID,
        type: "function",
        function: { name: part.tool, arguments: JSON.stringify(part.state.input) },
      }))
    sent.push(message)
    sources.push({ item: number })
    for (const { part, at } of tools) {
      if (!FINISHED.includes(part.state.status)) continue
      sent.push({ role: "tool", tool_call_id: part.callID, content: outputOf(part) })
      sources.push({ item: number, part: at })
    }
  })
  return { sent, sources }
}

// What is rendered, in opencode's form. Throws where it can't be expressed: then the original goes out.
export function itemsOf(items: Item[], sent: Chat[], sources: Source[], rendered: Rendered): Item[] {
  const found: Item[] = []
  const shown = new Map<number, Map<number, string>>() // message -> part -> its result's text
  const whole = new Map<number, Chat>()
  const order: (number | Chat)[] = []
  rendered.messages.forEach((message, at) => {
    const source = rendered.sources[at]
    if (source === null || source === undefined) {
      order.push(message)
      return
    }
    const { item, part } = sources[source] as Source
    if (part === undefined) {
      whole.set(item, message)
      order.push(item)
    } else {
      const texts = shown.get(item) ?? new Map<number, string>()
      shown.set(item, texts.set(part, String(message.content)))
    }
  })
  for (const entry of order) {
    if (typeof entry !== "number") {
      found.push(note(items, entry, found.length))
      continue
    }
    const item = items[entry] as Item
    found.push(cut(item, whole.get(entry) as Chat, shown.get(entry) ?? new Map()))
  }
  return found
}

// A message with the calls and prose that are kept; the same object where that is all of it.
function cut(item: Item, message: Chat, texts: Map<number, string>): Item {
  const calls = new Set((message.tool_calls ?? []).map((call) => call.id))
  const prose = message.content !== null && message.content !== ""
  const parts = item.parts.flatMap((part, at): Part[] => {
    if (part.type === "text") return prose ? [part] : []
    if (part.type !== "tool") return [part]
    if (!calls.has(part.callID)) return []
    const text = texts.get(at)
    if (!FINISHED.includes(part.state.status) || text === outputOf(part)) return [part]
    if (text === undefined) throw new Error("a call without its result")
    return [withOutput(part, text)]
  })
  const same = parts.length === item.parts.length && parts.every((part, at) => part === item.parts[at])
  return same ? item : { ...item, parts }
}

function withOutput(part: ToolPart, text: string): ToolPart {
  const { state } = part
  if (state.status === "completed") return { ...part, state: { ...state, output: text } }
  if (state.status === "error") return { ...part, state: { ...state, error: text } }
  return part
}

// A note of ours as a user message; it goes into the request and is never stored.
function note(items: Item[], message: Chat, at: number): Item {
  const user = items.findLast((item) => item.info.role === "user")
  if (!user) throw new Error("no user message")
  const id = `${user.info.id}-contextrender-${at}`
  const part: Part = {
    id: `${id}-part`,
    sessionID: user.info.sessionID,
    messageID: id,
    type: "text",
    synthetic: true,
    text: String(message.content),
  }
  return { info: { ...user.info, id }, parts: [part] }
}
