"""Replay of recorded runs: recall of later-used results and cost (paper App. B.4, C)."""
