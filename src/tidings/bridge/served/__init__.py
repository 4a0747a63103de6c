"""Sessions that a connection serves: opened, prompted, watched and closed, whatever protocol asks for it.

The ACP agent and the plain bridge stand on this; nothing here knows the SDK.
"""
