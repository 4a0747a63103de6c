"""Workspaces: folders whose `tidings.toml` says what the hub watches there, and what sessions are told.

`reading` makes a `Config` of the file, `making` watchers of the config, `keeping` keeps each one going,
`courier` gives their news to the hub, and `Workspaces` (`attaching`) holds it all together.
"""
