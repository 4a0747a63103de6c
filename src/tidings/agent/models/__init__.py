"""Models: adapters over the vendors' SDKs, and a scripted one that needs none.

`choose.py` finds one by name. Each adapter turns a rendered body into the vendor's request and the
vendor's stream into an `Answer`; `streamed.py` is what they share, `forms.py` how the wires write a
conversation.
"""
