"""The host's side of MCP: servers are connected, heard and asked. Public names are in `tidings.mcp`.

`servers` is what a caller holds; a `link` keeps one server connected over time, a `connection` is one stay
on the official SDK, and a `tap` hears every message before the SDK does. `intake` lets reminders into a
session. What decides (`tally`, `lines`, `wanted`, `naming`, `outcome`, `entry`) is pure.
"""
