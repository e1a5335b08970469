"""pydantic-ai's agent with a shell tool: python pydantic_agent.py WIRE BASE_URL TASK.

With our capability or model where a server of ours is named. Ends with what it keeps of the run, then the answer.
"""

import os
import subprocess
import sys

from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

wire, url, task = sys.argv[1:]
openai = OpenAIProvider(base_url=f"{url}/v1", api_key="sk-one")
anthropic = AnthropicProvider(base_url=url, api_key="sk-ant-one")
model = {
    "chat": lambda: OpenAIChatModel("mock-model", provider=openai),
    "responses": lambda: OpenAIResponsesModel("mock-model", provider=openai),
    "messages": lambda: AnthropicModel("mock-model", provider=anthropic),
}[wire]()
capabilities = []
if "CONTEXTRENDER_URL" in os.environ:
    from contextrender.adapters.pydantic_ai import ContextRender, ContextRenderModel

    if wire == "chat":
        model = ContextRenderModel(model)
    else:
        capabilities = [ContextRender()]
agent = Agent(model, instructions="You use the shell.", capabilities=capabilities)


@agent.tool_plain
def shell(command: str) -> str:
    """Run a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


result = agent.run_sync(task)
print(result.all_messages())
print(result.output)
