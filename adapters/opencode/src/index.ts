// The plugin: before each model step of a session or subagent, the messages are replaced by what is rendered.

import type { PluginModule } from "@opencode-ai/plugin"
import { Server, type Options } from "./server.js"
import { chatMessages, itemsOf, type Item } from "./transcript.js"

const module: PluginModule = {
  id: "contextrender",
  server: async (_input, options) => {
    const server = new Server(options as Options | undefined)
    const compacting = new Set<string>()
    return {
      // opencode's own compaction reads the session once more, whole, right after this.
      "experimental.session.compacting": async ({ sessionID }) => {
        compacting.add(sessionID)
      },
      "experimental.chat.messages.transform": async (_none, output) => {
        const items = output.messages as Item[]
        const session = items[0]?.info.sessionID
        if (!session || compacting.delete(session)) return
        try {
          const { sent, sources } = chatMessages(items)
          const rendered = await server.render(session, sent)
          if (rendered && !same(rendered.messages, sent))
            items.splice(0, items.length, ...itemsOf(items, sent, sources, rendered))
        } catch {
          // a hook that throws stops the session: the messages go out as they are
        }
      },
    }
  },
}

function same(rendered: unknown[], sent: unknown[]): boolean {
  return rendered.length === sent.length && JSON.stringify(rendered) === JSON.stringify(sent)
}

export default module
