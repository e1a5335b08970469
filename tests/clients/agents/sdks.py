"""An agent loop on the openai and anthropic SDKs: python sdks.py WIRE STREAM BASE_URL TASK."""

import json
import os
import subprocess
import sys
from typing import Any

KEY = os.environ.get("API_KEY", "sk-one")
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def wrapped(client: Any) -> Any:
    """With our wrapper, where a server of ours is named."""
    if "CONTEXTRENDER_URL" not in os.environ:
        return client
    from contextrender import Client, wrap

    return wrap(client, server=Client())


def shell(command: str) -> str:
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


def chat(url: str, stream: bool, task: str) -> str:
    from openai import OpenAI

    client = wrapped(OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0))
    tools: Any = [{"type": "function", "function": {"name": "shell", "parameters": SCHEMA}}]
    messages: list[Any] = [{"role": "system", "content": "You use the shell."}, {"role": "user", "content": task}]
    while True:
        if stream:
            with client.chat.completions.stream(model="mock-model", messages=messages, tools=tools) as events:
                message = events.get_final_completion().choices[0].message
        else:
            completion = client.chat.completions.create(model="mock-model", messages=messages, tools=tools)
            message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True) if stream else message)
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            text = shell(json.loads(call.function.arguments)["command"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def responses(url: str, stream: bool, task: str) -> str:
    from openai import OpenAI

    client = wrapped(OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0))
    tools: Any = [{"type": "function", "name": "shell", "parameters": SCHEMA, "strict": False}]
    items: list[Any] = [{"role": "user", "content": task}]
    while True:
        if stream:
            with client.responses.stream(model="mock-model", input=items, tools=tools, store=False) as events:
                response = events.get_final_response()
        else:
            response = client.responses.create(model="mock-model", input=items, tools=tools, store=False)
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        for call in calls:
            text = shell(json.loads(call.arguments)["command"])
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": text})


def messages(url: str, stream: bool, task: str) -> str:
    from anthropic import Anthropic

    client = wrapped(Anthropic(base_url=url, api_key=KEY, max_retries=0))
    tools: Any = [{"name": "shell", "input_schema": SCHEMA}]
    history: list[Any] = [{"role": "user", "content": task}]
    while True:
        asked: Any = {"model": "mock-model", "max_tokens": 999, "messages": history, "tools": tools}
        if stream:
            with client.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**asked)
        history.append({"role": "assistant", "content": message.content})
        uses = [block for block in message.content if block.type == "tool_use"]
        if not uses:
            return message.content[0].text
        said = [(use.id, shell(use.input["command"])) for use in uses]
        results = [{"type": "tool_result", "tool_use_id": name, "content": text} for name, text in said]
        history.append({"role": "user", "content": results})


if __name__ == "__main__":
    wire, stream, url, task = sys.argv[1:]
    print({"chat": chat, "responses": responses, "messages": messages}[wire](url, stream == "stream", task))
