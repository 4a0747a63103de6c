"""`tidings up --demo`: a small real workspace, the real watchers, and an agent at work in it.

`ground` makes the workspace, `coder` is the agent's script, `play` lets them meet through the hub.
"""
