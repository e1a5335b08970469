"""Benchmarks with a model in the loop: each method manages the context of whole agent runs (paper §4.1, App. B.1).

    task.Benchmark   what a benchmark is: tasks, the tools of a task, the score of a finished run
    loop.run_task    one run: render, ask the model, run its tool calls
    campaign         tasks × methods, resumable
    scripted         a server that plays the tasks' scripted agents, where there is no model
"""
