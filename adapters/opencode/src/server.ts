// The running `contextrender serve`: one call a model step, which carries only what the server doesn't have.

import { readFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

export type Chat = {
  role: string
  content: unknown
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}
export type Rendered = { messages: Chat[]; sources: (number | null)[]; tokens: number; full_tokens: number }
type Known = { events: number; digest: string }
type Synced = Rendered & { known: Known }
type Held = { session: string; known?: Known; had: string[] }

export type Options = { url?: string; token?: string; budget?: number; timeout?: number; pause?: number }

class Refused extends Error {
  constructor(readonly status: number) {
    super(`the server answered ${status}`)
  }
}

// Where the local server keeps the token that clients on this machine show.
async function localToken(): Promise<string> {
  const home = homedir()
  const data =
    process.platform === "darwin"
      ? join(home, "Library", "Application Support")
      : (process.env["XDG_DATA_HOME"] ?? join(home, ".local", "share"))
  return (await readFile(join(data, "contextrender", "token"), "utf8")).trim()
}

export class Server {
  private readonly url: string
  private readonly timeout: number
  private readonly pause: number
  private readonly held = new Map<string, Held>()
  private again = 0

  constructor(private readonly options: Options = {}) {
    this.url = (options.url ?? process.env["CONTEXTRENDER_URL"] ?? "http://127.0.0.1:8420").replace(/\/+$/, "")
    this.timeout = options.timeout ?? 2_000
    this.pause = options.pause ?? 30_000
  }

  // What to send instead of these messages; undefined where they are to be sent as they are, whatever the reason.
  async render(session: string, messages: Chat[]): Promise<Rendered | undefined> {
    if (Date.now() < this.again) return undefined
    const until = AbortSignal.timeout(this.timeout)
    try {
      return await this.sync(session, messages, until)
    } catch {
      this.held.delete(session)
      this.again = Date.now() + this.pause
      return undefined
    }
  }

  private async sync(name: string, messages: Chat[], until: AbortSignal): Promise<Rendered> {
    const held = this.held.get(name) ?? (await this.opened(name, until))
    const written = messages.map((message) => JSON.stringify(message))
    const begins = held.known !== undefined && held.had.every((text, at) => text === written[at])
    const synced = await this.sent(held, messages, begins ? held.had.length : 0, until)
    held.known = synced.known
    held.had = written
    return synced
  }

  private async sent(held: Held, messages: Chat[], from: number, until: AbortSignal): Promise<Synced> {
    const known = from ? held.known : undefined
    try {
      return await this.call<Synced>("sync", { session: held.session, messages: messages.slice(from), known }, until)
    } catch (error) {
      if (!(error instanceof Refused && error.status === 409)) throw error
      return await this.call<Synced>("sync", { session: held.session, messages }, until)
    }
  }

  private async opened(name: string, until: AbortSignal): Promise<Held> {
    const { budget } = this.options
    const { session } = await this.call<{ session: string }>("open_session", { key: `opencode:${name}`, budget }, until)
    const held: Held = { session, had: [] }
    this.held.set(name, held)
    return held
  }

  private async call<T>(walker: string, fields: Record<string, unknown>, until: AbortSignal): Promise<T> {
    const token = this.options.token ?? process.env["CONTEXTRENDER_TOKEN"] ?? (await localToken())
    const response = await fetch(`${this.url}/walker/${walker}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(fields),
      signal: until,
    })
    if (!response.ok) throw new Refused(response.status)
    const { reports } = (await response.json()) as { reports: [T] }
    return reports[0]
  }
}
