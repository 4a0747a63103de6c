"""A host for any ACP agent: starts it, prompts it, reminds it. Public names are in `tidings.acp`.

`host` and `session` are what a caller holds; `link` stands between the official SDK and the agent's
`process`; `events` and `offer` decide, and are pure.
"""
