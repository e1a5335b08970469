"""Recorded runs from files, one at a time: `.json`, `.jsonl`, either gzipped.

A trace is a list of chat-completions messages, bare or as `{"messages": …, "id": …}`; a `.json` file holds one trace or
a list of them. Every message is checked before the trace is used.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextrender.errors import InputError
from contextrender.transcripts.chat import parse_messages

SHAPES = 'a list of chat messages, or {"messages": [...], "id": ...}'


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded run. `name` is its id, or its place in the file."""

    name: str
    messages: list[dict[str, Any]]


def read_traces(path: Path, on_bad: Callable[[InputError], None] | None = None) -> Iterator[Trace]:
    """The traces of a file, in order.

    Raises InputError naming file, line and what is wrong; with `on_bad` it is called instead, and reading goes on.
    A file that breaks off is reported after the traces before the break.
    """
    found = 0
    for where, document in _documents(path):
        try:
            if isinstance(document, InputError):
                raise document
            for trace in _traces(json.loads(document.decode("utf-8-sig")), where, str(found + 1)):
                found += 1
                yield trace
        except json.JSONDecodeError as error:
            problem = InputError(f"not JSON: {error.msg} at column {error.colno}", where, SHAPES)
        except UnicodeDecodeError as error:
            problem = InputError(f"not UTF-8: byte {error.object[error.start]:#04x} at {error.start}", where, "UTF-8")
        except RecursionError:
            problem = InputError("JSON nested too deeply", where, SHAPES)
        except InputError as error:
            problem = error
        except ValueError as error:  # such as an integer of thousands of digits
            problem = InputError(f"not readable JSON: {error}", where, SHAPES)
        else:
            continue
        if on_bad is None:
            raise problem
        on_bad(problem)
    if not found:
        problem = InputError("no trace in the file", str(path), SHAPES)
        if on_bad is None:
            raise problem
        on_bad(problem)


def _documents(path: Path) -> Iterator[tuple[str, bytes | InputError]]:
    """(where, JSON bytes): a line each of a JSONL file, the whole of any other; last, why the file can't be read on."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            if path.name.removesuffix(".gz").endswith(".jsonl"):
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield f"{path}:{number}", line
            else:
                yield str(path), file.read()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        accepted = "a readable UTF-8 .json, .jsonl or .jsonl.gz"
        yield str(path), InputError(f"cannot be read: {reason}", str(path), accepted)


def _traces(document: Any, where: str, name: str) -> Iterator[Trace]:
    if isinstance(document, dict) and "messages" in document:
        given = document.get("id")
        yield _trace(document["messages"], where, name if given is None else str(given))
    elif isinstance(document, list) and document and all(_is_trace(item) for item in document):
        for number, item in enumerate(document, 1):
            yield from _traces(item, f"{where}[{number - 1}]", str(number))
    elif isinstance(document, list):
        yield _trace(document, where, name)
    else:
        raise InputError(f"a trace is of type {type(document).__name__} without messages", where, SHAPES)


def _is_trace(item: Any) -> bool:
    return isinstance(item, list) or (isinstance(item, dict) and "messages" in item)


def _trace(messages: Any, where: str, name: str) -> Trace:
    if not messages:
        raise InputError("the trace has no messages", where, SHAPES)
    parse_messages(messages, f"{where}: messages")
    return Trace(name, messages)
