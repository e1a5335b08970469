"""A small app world with real tools and a scripted agent, to record runs and to try context managers on.

    from contextrender.world.tasks import get_task
    from contextrender.world.agent import run
    done = run(get_task("roommates"), render=lambda messages: messages)
    done.goal_unmet, done.turns, done.extra_calls

`state.py` what there is · `tools.py` what can be done · `tasks.py` what is asked · `agent.py` who does it ·
`record.py` writes runs to files. Nothing here uses the network, a model, or randomness without a seed.
"""
