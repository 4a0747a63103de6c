"""What `tidings.toml` may say, as types. Data.

`reading.py` reads a file with these and names what does not fit; the reference page is made of them. Each
type says what it wants, for the message of a wrong value. A watcher or server is there when its table is;
`enabled = false` switches it off.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from tidings.core.trust import POWERS
from tidings.mcp.budget import Budget
from tidings.mcp.config import Era
from tidings.mcp.rules import Rule
from tidings.watchers.commanding import First, Report
from tidings.watchers.reviews.verifying import Scheme

FILE = "tidings.toml"

DELIVER_WITHIN = 120.0
DEADLINE = 600.0
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"

Text: TypeAlias = Annotated[str, Meta(description="text that is not empty", min_length=1, max_length=4096)]
Words: TypeAlias = Annotated[tuple[Text, ...], Meta(description="a list of texts", max_length=100)]
Argv: TypeAlias = Annotated[tuple[str, ...], Meta(min_length=1, max_length=1000)]
Command: TypeAlias = Annotated[
    Text | Argv, Meta(description='a command, such as "cargo check" or ["cargo", "check"]')
]
Seconds: TypeAlias = Annotated[
    float, Meta(description="seconds: a number above 0, at most a week", gt=0, le=604_800)
]
Count: TypeAlias = Annotated[int, Meta(description="a whole number of 1 or more", ge=1)]
Port: TypeAlias = Annotated[int, Meta(description="a port: 0 to 65535, 0 for any", ge=0, le=65_535)]
Flag: TypeAlias = Annotated[bool, Meta(description="true or false")]
Power: TypeAlias = Literal["propagate_all", "preserve_on_compact", "interrupt_immediate", "wake_idle"]
Powers: TypeAlias = Annotated[tuple[Power, ...], Meta(description=f"a list of {', '.join(POWERS)}")]
Texts: TypeAlias = Annotated[dict[str, str], Meta(description="a table of texts")]
Folder: TypeAlias = Annotated[
    str, Meta(description="a folder, relative to this file", min_length=1, max_length=4096)
]


class Section(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A table of the file."""


class Sessions(Section, frozen=True, kw_only=True):
    """Whom the news is for, and for how long."""

    tags: Words = ()
    deliver_within: Seconds = DELIVER_WITHIN


class Limits(Section, frozen=True, kw_only=True):
    """How much one watcher or server may say; what goes beyond is dropped and recorded."""

    per_minute: Count = 60
    bytes_per_minute: Count = 256 * 1024

    def budget(self) -> Budget:
        """The same, as the meters read it."""
        return Budget(per_minute=self.per_minute, bytes_per_minute=self.bytes_per_minute)


class Files(Section, frozen=True, kw_only=True):
    """Tell which files are created, edited, renamed or deleted."""

    folder: Folder = "."
    only: Words = ()
    poll: Flag = False
    enabled: Flag = True


class Suite(Section, frozen=True, kw_only=True):
    """Run the tests at each change, and tell which turned red or green."""

    command: Command | None = None
    folder: Folder = "."
    only: Words = ()
    every: Seconds | None = None
    deadline: Seconds = DEADLINE
    poll: Flag = False
    enabled: Flag = True


class Check(Section, frozen=True, kw_only=True):
    """Run a command at each change, and tell when it begins to fail or to pass."""

    command: Command
    folder: Folder = "."
    only: Words = ()
    every: Seconds | None = None
    deadline: Seconds = DEADLINE
    report: Annotated[Report, Meta(description='"turns" or "every"')] = "turns"
    first: Annotated[First, Meta(description='"failing", "always" or "never"')] = "failing"
    poll: Flag = False
    enabled: Flag = True


class Reviews(Section, frozen=True, kw_only=True):
    """Tell of reviews and CI results: webhooks that are signed, or an endpoint that is asked."""

    secret_env: Words = ()
    scheme: Annotated[Scheme, Meta(description='"github", "gitlab" or "standard"')] = "github"
    host: Text = "127.0.0.1"
    port: Port = 8787
    path: Text = "/webhook"
    repositories: Words = ()
    poll_url: Text | None = None
    token_env: Text | None = None
    every: Seconds = 60.0
    items: Annotated[str, Meta(description="a JSON pointer")] = ""
    id: Annotated[str, Meta(description="a JSON pointer")] = "/id"
    title: Annotated[str, Meta(description="a JSON pointer")] = "/title"
    state: Annotated[str, Meta(description="a JSON pointer")] = "/state"
    enabled: Flag = True


class Watch(Section, frozen=True, kw_only=True):
    """What the hub watches for this folder."""

    files: Files | None = None
    tests: Suite | None = None
    commands: dict[str, Check] = {}
    reviews: Reviews | None = None


class Server(Section, frozen=True, kw_only=True):
    """An MCP server that the hub connects: what it pushes reaches the sessions, quoted with its name."""

    command: Command | None = None
    url: Text | None = None
    env: Texts = {}
    headers: Texts = {}
    folder: Folder = "."
    era: Annotated[Era, Meta(description='"auto", "modern" or "legacy"')] = "auto"
    grants: Powers = ()
    budget: Annotated[Limits, Meta(description="a table as [budget]")] = Limits()
    rules: Annotated[
        tuple[Rule, ...],
        Meta(description='a list of rules, such as {on = "resource_updated", match = "ci://main"}'),
    ] = ()
    enabled: Flag = True


class Config(Section, frozen=True, kw_only=True):
    """A whole `tidings.toml`."""

    sessions: Sessions = Sessions()
    watch: Watch = Watch()
    servers: dict[str, Server] = {}
    budget: Limits = Limits()
    grants: dict[str, Powers] = {}
