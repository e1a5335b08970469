"""Recorded runs from files, one at a time: JSON or JSON lines, either gzipped; the format is found out (formats.py).

A JSON file holds one run or a list of them; a file of JSON lines one run a line, or, as coding agents write it, one
session in all its lines. Every message is checked before a trace is used.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from contextrender.errors import InputError
from contextrender.evaluation.formats import SHAPES, Conversation, conversations, one_turn_each, session_lines
from contextrender.transcripts.chat import parse_messages


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded run as chat messages. `name` is its id, or its place in the file."""

    name: str
    messages: list[dict[str, Any]]


OnBad = Callable[[InputError], None]


def read_traces(path: Path, on_bad: OnBad | None = None) -> Iterator[Trace]:
    """The traces of a file, in order.

    Raises InputError naming file, line and what is wrong; with `on_bad` it is called instead, and reading goes on.
    A file that breaks off is reported after the traces before the break.
    """

    def report(problem: InputError) -> None:
        if on_bad is None:
            raise problem
        on_bad(problem)

    found = 0
    documents = _parsed(path, report)
    first = next(documents, None)
    if first is not None:
        documents = chain([first], documents)
        session = session_lines(first[1]) if _is_lines(path) else None
        if session:
            name, reader = session
            rows = (row for _, row in documents if isinstance(row, Mapping))
            read = _runs(path, lambda: [Conversation(name, one_turn_each(reader(rows)))], str(path), report)
        else:
            read = (
                trace
                for where, document in documents
                for trace in _runs(path, lambda known=document: conversations(known), where, report)  # type: ignore[misc]
            )
        for trace in read:
            found += 1
            yield trace if trace.name else Trace(str(found), trace.messages)
    if not found:
        report(InputError("no trace in the file", str(path), SHAPES))


def _runs(
    path: Path, convert: Callable[[], list[Conversation] | None], where: str, report: Callable[[InputError], None]
) -> Iterator[Trace]:
    try:
        runs = convert()
        if runs is None:
            raise InputError("a JSON document without messages that I know", where, SHAPES)
    except InputError as error:
        report(error)
        return
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        report(InputError(f"it looks like a known format, but is not ({type(error).__name__}: {error})", where, SHAPES))
        return
    for number, run in enumerate(runs):
        place = where if len(runs) == 1 else f"{where}[{number}]"
        try:
            if not run.messages:
                raise InputError("the trace has no messages", place, SHAPES)
            parse_messages(run.messages, f"{place}: messages")
        except InputError as error:
            report(error)
        else:
            yield Trace(run.name, run.messages)


def _is_lines(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))


def _parsed(path: Path, report: Callable[[InputError], None]) -> Iterator[tuple[str, Any]]:
    """(where, JSON document): a line each of a file of lines, the whole of any other."""
    for where, data in _documents(path, report):
        try:
            document = json.loads(data.decode("utf-8-sig"))
        except json.JSONDecodeError as error:
            report(InputError(f"not JSON: {error.msg} at column {error.colno}", where, SHAPES))
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            report(InputError(f"not UTF-8: byte {byte:#04x} at {error.start}", where, "UTF-8"))
        except RecursionError:
            report(InputError("JSON nested too deeply", where, SHAPES))
        except ValueError as error:  # such as an integer of thousands of digits
            report(InputError(f"not readable JSON: {error}", where, SHAPES))
        else:
            yield where, document


def _documents(path: Path, report: Callable[[InputError], None]) -> Iterator[tuple[str, bytes]]:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            if _is_lines(path):
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield f"{path}:{number}", line
            else:
                yield str(path), file.read()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        report(InputError(f"cannot be read: {reason}", str(path), "a readable UTF-8 .json or .jsonl, perhaps .gz"))
