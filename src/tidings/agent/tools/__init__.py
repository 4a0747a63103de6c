"""Tools: a Python function becomes a tool, a batch of tool calls becomes receipts.

`tool.py` says what a tool is, `function.py` makes one from a function, `approval.py` decides whether
a call may run, `dispatch.py` runs a batch and closes every call with a `Receipt`. The built-in coding
set, bound to one folder, starts at `workspace.py`.
"""
