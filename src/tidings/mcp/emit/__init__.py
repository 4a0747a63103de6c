"""The emitting side of MCP: reminders from a server of the official SDK, in both eras.

`reminders` is what a server's author holds; `middleware` and `listen` are what the SDK calls; `delivery`
decides who is told and knows no SDK; `serve` and `http` run a server so that it also ends well.
"""
