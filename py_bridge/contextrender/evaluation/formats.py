"""What agents leave behind, brought to chat messages: sessions of coding agents, benchmark results, request bodies.

`conversations(document)` reads one JSON document; `session_lines(row)` recognises files whose lines together are one
session. Content that no model reads (titles, usage, user-interface events) is left out; reasoning is left out too.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Message = dict[str, Any]

SHAPES = (
    "chat, Anthropic or Responses messages (a list, or an object with messages or input), a Claude Code, Codex or "
    "OpenHands session, an opencode export, a SWE-agent or mini-swe-agent trajectory, tau-bench results"
)


class Conversation(NamedTuple):
    """One run: its id ("" where the file has none) and its chat messages (or what stands in their place)."""

    name: str
    messages: Any


def joined(content: Any) -> str:
    """The text of a content: a string, or text blocks joined by a newline; other blocks as JSON, images as a word."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return json.dumps(content, ensure_ascii=False)
    texts = []
    for block in content:
        match block:
            case str(text) | {"text": str(text)}:
                texts.append(text)
            case {"type": "thinking" | "redacted_thinking" | "reasoning"}:
                pass
            case {"type": "image" | "input_image" | "image_url"}:
                texts.append("[image]")
            case _:
                texts.append(json.dumps(block, ensure_ascii=False))
    return "\n".join(texts)


def _call(call_id: Any, name: Any, arguments: Any) -> Message:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": str(call_id or ""), "type": "function", "function": {"name": str(name), "arguments": text}}


def _assistant(text: str, calls: Sequence[Message] = ()) -> Message:
    message: Message = {"role": "assistant", "content": text or None}
    return message | {"tool_calls": list(calls)} if calls else message


def _result(call_id: Any, content: Any) -> Message:
    return {"role": "tool", "tool_call_id": str(call_id or ""), "content": joined(content)}


def one_turn_each(messages: Iterable[Message]) -> list[Message]:
    """Neighbouring assistant messages as one turn: some formats write each block as a line of its own."""
    found: list[Message] = []
    for message in messages:
        last = found[-1] if found else None
        if last and last["role"] == message["role"] == "assistant":
            texts = [text for text in (last["content"], message["content"]) if text]
            found[-1] = _assistant("\n".join(texts), [*last.get("tool_calls", ()), *message.get("tool_calls", ())])
        elif message["role"] != "assistant" or message["content"] or message.get("tool_calls"):
            found.append(message)
    return found


# Anthropic Messages


def _is_anthropic(messages: Any) -> bool:
    kinds = {"tool_use", "tool_result", "thinking", "server_tool_use"}
    return isinstance(messages, list) and any(
        isinstance(block, Mapping) and block.get("type") in kinds
        for message in messages
        if isinstance(message, Mapping) and isinstance(message.get("content"), list)
        for block in message["content"]
    )


def anthropic_messages(messages: Iterable[Mapping[str, Any]], system: Any = None) -> Iterator[Message]:
    """Chat messages of Anthropic ones; a user message's results come before its text."""
    if system:
        yield {"role": "system", "content": joined(system)}
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": joined(content)}]
        role = message.get("role")
        if role == "assistant":
            calls = [_call(b.get("id"), b.get("name"), b.get("input")) for b in blocks if b.get("type") == "tool_use"]
            yield _assistant(joined([b for b in blocks if b.get("type") != "tool_use"]), calls)
            continue
        yield from (_result(b.get("tool_use_id"), b.get("content")) for b in blocks if b.get("type") == "tool_result")
        rest = [b for b in blocks if b.get("type") != "tool_result"]
        if rest:
            yield {"role": role, "content": joined(rest)}


# OpenAI Responses


def _is_items(items: Any) -> bool:
    kinds = {"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning"}
    return isinstance(items, list) and any(isinstance(i, Mapping) and i.get("type") in kinds for i in items)


def response_items(items: Iterable[Mapping[str, Any]]) -> Iterator[Message]:
    """Chat messages of Responses items."""
    for item in items:
        match item:
            case {"type": "function_call" | "custom_tool_call", "name": name}:
                yield _assistant("", [_call(item.get("call_id"), name, item.get("arguments", item.get("input", "")))])
            case {"type": "function_call_output" | "custom_tool_call_output"}:
                yield _result(item.get("call_id"), item.get("output"))
            case {"type": "local_shell_call", "action": action}:
                yield _assistant("", [_call(item.get("call_id"), "local_shell", action)])
            case {"role": "assistant", "content": content}:
                yield _assistant(joined(content))
            case {"role": role, "content": content}:
                yield {"role": role, "content": joined(content)}


# Sessions of coding agents


def claude_code(rows: Iterable[Mapping[str, Any]]) -> Iterator[Message]:
    """A Claude Code session file (~/.claude/projects/*/*.jsonl), the main thread of it."""
    for row in rows:
        if row.get("type") in ("user", "assistant") and not row.get("isSidechain") and "message" in row:
            yield from anthropic_messages([row["message"]])
        elif row.get("type") == "attachment" and not row.get("isSidechain"):
            for shown in row.get("rendered") or ():
                yield {"role": "system", "content": joined(shown.get("content"))}


def codex(rows: Iterable[Mapping[str, Any]]) -> Iterator[Message]:
    """A Codex rollout (~/.codex/sessions/**/rollout-*.jsonl). What stands before a compaction stays."""
    yield from response_items(row["payload"] for row in rows if row.get("type") == "response_item")


def openhands(rows: Iterable[Mapping[str, Any]]) -> Iterator[Message]:
    """OpenHands events: those of its SDK (`kind`), or of versions before 1 (`action` and `observation`)."""
    for row in rows:
        match row:
            case {"kind": "SystemPromptEvent", "system_prompt": prompt}:
                yield {"role": "system", "content": joined([prompt])}
            case {"kind": "MessageEvent", "llm_message": {"role": role, "content": content}}:
                text = joined(content)
                yield _assistant(text) if role == "assistant" else {"role": role, "content": text}
            case {"kind": "ActionEvent", "tool_call": {"name": name, "arguments": arguments}}:
                yield _assistant(joined(row.get("thought")), [_call(row.get("tool_call_id"), name, arguments)])
            case {"kind": "ObservationEvent", "observation": observation}:
                shown = observation.get("content") if isinstance(observation, Mapping) else observation
                yield _result(row.get("tool_call_id"), shown)
            case {"kind": "AgentErrorEvent" | "UserRejectObservation"}:
                yield _result(row.get("tool_call_id"), row.get("error") or row.get("rejection_reason"))
            case {"action": "message" | "system" as action, "args": {"content": content}, "source": source}:
                role = "system" if action == "system" else "user" if source == "user" else "assistant"
                yield _assistant(joined(content)) if role == "assistant" else {"role": role, "content": joined(content)}
            case {"action": str(action), "source": "agent", "args": Mapping() as arguments}:
                data = {key: value for key, value in arguments.items() if key != "thought"}
                yield _assistant(str(arguments.get("thought") or ""), [_call(row.get("id"), action, data)])
            case {"observation": str(), "cause": cause, "content": content}:
                yield _result(cause, content)


def _is_openhands(row: Mapping[str, Any]) -> bool:
    if str(row.get("kind", "")).endswith(("Event", "Observation")) and "source" in row:
        return True
    return "source" in row and ("action" in row or "observation" in row) and "id" in row


def session_lines(row: Any) -> tuple[str, Callable[[Iterable[Mapping[str, Any]]], Iterator[Message]]] | None:
    """Whether a line begins a file whose lines are one session: its id and its reader, or None."""
    match row:
        case {"type": "session_meta", "payload": {"id": name}}:
            return str(name), codex
        case {"type": str(), "sessionId": str(name)}:
            return name, claude_code
        case {"type": "summary", "leafUuid": _}:
            return "", claude_code
        case Mapping() if _is_openhands(row):
            return "", openhands
    return None


def opencode(document: Mapping[str, Any]) -> Iterator[Message]:
    """`opencode export`: a tool part holds the call and its result; a step begins a model call."""
    for message in document["messages"]:
        role = message["info"]["role"]
        if role == "user":
            yield {"role": "user", "content": joined([p for p in message["parts"] if p.get("type") == "text"])}
            continue
        texts: list[Any] = []
        calls: list[Message] = []
        results: list[Message] = []
        for part in [*message["parts"], {"type": "step-start"}]:
            match part:
                case {"type": "step-start"}:
                    if texts or calls:
                        yield _assistant(joined(texts), calls)
                        yield from results
                    texts, calls, results = [], [], []
                case {"type": "text"}:
                    texts.append(part)
                case {"type": "tool", "tool": tool, "callID": call_id, "state": state}:
                    calls.append(_call(call_id, tool, state.get("input")))
                    if state.get("status") in ("completed", "error"):
                        results.append(_result(call_id, state.get("output", state.get("error"))))


# Trajectories and benchmark results


def swe_agent(document: Mapping[str, Any]) -> Iterator[Message]:
    """A SWE-agent .traj file: `history`; a mini-swe-agent one: `messages`, without its closing `exit`."""
    for message in document.get("history") or document["messages"]:
        role = message.get("role")
        if role == "tool":
            ids = message.get("tool_call_ids") or [message.get("tool_call_id")]
            yield _result(ids[0], message.get("content"))
        elif role == "assistant":
            yield {"role": role, "content": joined(message.get("content"))} | (
                {"tool_calls": message["tool_calls"]} if message.get("tool_calls") else {}
            )
        elif role != "exit":
            yield {"role": role, "content": joined(message.get("content"))}


def tau_bench(messages: Iterable[Mapping[str, Any]]) -> Iterator[Message]:
    """Messages of a tau-bench or tau2-bench result; the simulated user's own tools are not the agent's."""
    for message in messages:
        if message.get("requestor") == "user":
            continue
        calls = message.get("tool_calls") or ()
        if message.get("role") == "assistant":
            kept = [
                call if "function" in call else _call(call.get("id"), call.get("name"), call.get("arguments"))
                for call in calls
            ]
            yield _assistant(joined(message.get("content")), kept)
        elif message.get("role") == "tool":
            yield _result(message.get("tool_call_id", message.get("id")), message.get("content"))
        elif not calls:
            yield {"role": message.get("role"), "content": joined(message.get("content"))}


def conversations(document: Any) -> list[Conversation] | None:
    """The runs in a JSON document, None where it is of no known shape."""
    match document:
        case {"info": {"id": name}, "messages": [{"info": _, "parts": _}, *_]}:
            return [Conversation(str(name), one_turn_each(opencode(document)))]
        case {"simulations": [{"messages": _}, *_] as runs}:
            return [
                Conversation(str(run.get("id") or run.get("task_id")), [*tau_bench(run["messages"])]) for run in runs
            ]
        case [{"traj": _, "task_id": _}, *_]:
            return [
                Conversation(f"task{run['task_id']}/trial{run.get('trial', 0)}", [*tau_bench(run["traj"])])
                for run in document
            ]
        case {"trajectory": list(), "history": list()} | {"trajectory_format": str(), "messages": list()}:
            info = document.get("info")
            name = info.get("instance_id") if isinstance(info, Mapping) else None
            return [Conversation(str(document.get("instance_id") or name or ""), [*swe_agent(document)])]
        case {"messages": messages} if "system" in document or _is_anthropic(messages):
            return [Conversation(_name(document), one_turn_each(anthropic_messages(messages, document.get("system"))))]
        case {"messages": messages}:
            return [Conversation(_name(document), messages)]
        case {"input": list(items)}:
            first = [{"role": "system", "content": document["instructions"]}] if document.get("instructions") else []
            output = document.get("output")
            rest = output if isinstance(output, list) else []
            return [Conversation(_name(document), one_turn_each(response_items([*first, *items, *rest])))]
        case [Mapping() as row, *_] if _is_openhands(row):
            return [Conversation("", one_turn_each(openhands(document)))]
        case list() if _is_items(document):
            return [Conversation("", one_turn_each(response_items(document)))]
        case list() if _is_anthropic(document):
            return [Conversation("", one_turn_each(anthropic_messages(document)))]
        case [first, *_] if isinstance(first, list) or (isinstance(first, Mapping) and "role" not in first):
            found = [conversations(item) for item in document]
            if all(found):
                return [one for each in found if each for one in each]
            return None
        case list():
            return [Conversation("", document)]
    return None


def _name(document: Mapping[str, Any]) -> str:
    given = document.get("id", document.get("trace_id"))
    return "" if given is None else str(given)
