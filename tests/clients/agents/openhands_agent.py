"""An OpenHands conversation with its terminal tool: python openhands_agent.py BASE_URL WORKSPACE TASK.

With our condenser where a server of ours is named. Ends with what it keeps of the run, then the answer.
"""

import os
import sys

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.event import MessageEvent
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

url, workspace, task = sys.argv[1:]
llm = LLM(
    model="openai/mock-model", base_url=f"{url}/v1", api_key=SecretStr("sk-one"), num_retries=0, usage_id="agent"
)
condenser = None
if "CONTEXTRENDER_URL" in os.environ:
    from contextrender.adapters.openhands import ContextRenderCondenser

    condenser = ContextRenderCondenser()
agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name)], condenser=condenser)
said: list[str] = []


def listen(event: object) -> None:
    """Keep what the agent says to the user."""
    if isinstance(event, MessageEvent) and event.source == "agent":
        said.extend(part.text for part in event.llm_message.content)


conversation = Conversation(agent=agent, workspace=workspace, visualizer=None, callbacks=[listen])
conversation.send_message(task)
conversation.run()
print([event.model_dump_json() for event in conversation.state.events])
print(said[-1])
