"""The apps of the world: each module registers its tools when it is imported (`tools.py` imports all)."""
