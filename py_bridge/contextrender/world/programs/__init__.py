"""What the scripted agent does, task by task.

`dinner.py`, `money.py`, `office.py` and `planning.py` hold the programs, `facts.py` how they read what is visible.
"""
