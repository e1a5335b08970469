"""Other ways to manage an agent's context, measured beside ours under one budget and one accounting (paper App. B.2).

`registry.make_selector(name, settings)` makes one for one run; docs/baselines.md says what each is.
"""
