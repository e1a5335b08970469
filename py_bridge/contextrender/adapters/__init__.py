"""ContextRender inside other programs. Each module needs its framework, httpx, and a running `contextrender serve`.

Nothing of the graph is imported here: `pip install --no-deps contextrender` is enough where a framework's pins differ.
"""
