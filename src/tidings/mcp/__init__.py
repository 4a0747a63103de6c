"""The Model Context Protocol: servers that push reminders, and hosts that hear them, in both eras.

The pure part (names, advertisement, notification, filters, queue, router) imports no SDK; `emit` and `host`
stand on the official one (`pip install tidings[mcp]`).
"""
