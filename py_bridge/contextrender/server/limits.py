"""How often something may be tried."""

import threading
import time
from collections import OrderedDict, deque


class Tries:
    """At most `most` tries in `seconds` from one source; remembers `sources` of them. One process counts for itself."""

    def __init__(self, most: int, seconds: float, sources: int = 10_000) -> None:
        self._most, self._seconds, self._sources = most, seconds, sources
        self._made: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, source: str) -> float:
        """0 for a try that may be made now, and is counted; else the seconds until the next one may."""
        now = time.monotonic()
        with self._lock:
            made = self._made.setdefault(source, deque())
            self._made.move_to_end(source)
            while len(self._made) > self._sources:
                self._made.popitem(last=False)
            while made and made[0] <= now - self._seconds:
                made.popleft()
            if len(made) >= self._most:
                return made[0] + self._seconds - now
            made.append(now)
            return 0.0
