"""LangChain's agent with a shell tool: python langchain_agent.py STREAM BASE_URL TASK.

With our middleware where a server of ours is named. Ends with what it keeps of the run, then the answer.
"""

import asyncio
import os
import subprocess
import sys

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def shell(command: str) -> str:
    """Run a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


stream, url, task = sys.argv[1:]
model = ChatOpenAI(
    model="mock-model", base_url=f"{url}/v1", api_key="sk-one", streaming=stream == "stream", max_retries=0
)
middleware = []
if "CONTEXTRENDER_URL" in os.environ:
    from contextrender.adapters.langchain import ContextRenderMiddleware

    middleware = [ContextRenderMiddleware()]
agent = create_agent(model, [shell], system_prompt="You use the shell.", middleware=middleware)
asked = {"messages": [("user", task)]}, {"recursion_limit": 200}
state = asyncio.run(agent.ainvoke(*asked)) if stream == "stream" else agent.invoke(*asked)
print([message.content for message in state["messages"]])
print(state["messages"][-1].content)
