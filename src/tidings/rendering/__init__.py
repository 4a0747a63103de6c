"""Rendering: pending reminders and a conversation become a vendor's request body. Pure.

`route.py` says what a model route can take, `plan.py` which reminder goes where, one module per
wire how it is written, `render.py` puts them together. Named after what it does, because
`tidings.render` is the function.
"""
