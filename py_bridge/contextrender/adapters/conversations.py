"""Several conversations of one program, told apart by a name or by how they begin."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from contextrender.adapters.context import Context
from contextrender.events import OUTSIDE_ROLES
from contextrender.trace import Message

HELD = 64
"""Conversations that are kept; one that goes on after that is begun again."""


class Conversations:
    """The contexts of a program, made by `make(name)` when they are first needed. Thread-safe."""

    def __init__(self, make: Callable[[str], Context]) -> None:
        self._make = make
        self._held: OrderedDict[tuple[str, str], Context] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, name: str, messages: Sequence[Message] = ()) -> Context:
        """The conversation of this name that begins as these messages do; () where the name alone says which it is."""
        opening = next((message for message in messages if message.get("role") not in OUTSIDE_ROLES), None)
        key = name, json.dumps(opening, sort_keys=True, default=str)
        with self._lock:
            if key not in self._held:
                self._held[key] = self._make(name)
                if len(self._held) > HELD:
                    self._held.popitem(last=False)
            self._held.move_to_end(key)
            return self._held[key]
