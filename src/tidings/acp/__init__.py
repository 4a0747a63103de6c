"""The Agent Client Protocol: an agent that editors can remind, a host for any agent, and an interposer.

The agent and the host stand on the official SDK (`pip install tidings[acp]`); the interposer passes bytes
and imports none of it.
"""
