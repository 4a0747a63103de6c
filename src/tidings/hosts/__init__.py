"""The coding agents that people already run, as tables: what each tells us, and how it is answered. Pure.

A host's module reads its hook payload into a `Happening` and turns a `Delivery` into its answer; `reach.py`
says what each host can do. Nothing here decides what is delivered: `tidings.hub.hosting` does.
"""
