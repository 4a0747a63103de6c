"""Which hosts the hub speaks to by itself: a file of its data folder, which `tidings connect` writes."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from tidings.core.producers import shown
from tidings.errors import CallerError
from tidings.hosts.happening import Host

SCHEMES: dict[Host, str] = {"codex": "ws", "opencode": "http"}
"""The hosts that can be spoken to, and how."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """Where a host listens, and whether an idle session of it may be woken."""

    url: str
    wake: bool = False


def checked(host: Host, url: str) -> str:
    """`url`, when it is one on this machine that a host of this kind may have.

    Raises:
        CallerError: it is not, or the host cannot be spoken to.
    """
    if host not in SCHEMES:
        raise CallerError(f"{host} has no server of its own; leave the address out")
    try:
        parts = urlsplit(url)
        usable = (parts.scheme, bool(parts.port)) == (SCHEMES[host], True)
    except ValueError:
        usable = False
    if not usable or parts.hostname not in LOOPBACK or parts.username is not None:
        example = f"{SCHEMES[host]}://127.0.0.1:4500"
        raise CallerError(f"the address is {shown(url)}; give one of this machine, such as {example}")
    return url


def read(path: Path) -> dict[Host, Surface]:
    """The surfaces that are known.

    Raises:
        CallerError: the file cannot be read.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[Host, Surface])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise CallerError(f"{str(path)!r} cannot be read: {error}; remove it, connect again") from error


def write(path: Path, known: dict[Host, Surface]) -> None:
    """Keep them, all at once; no file for none."""
    if not known:
        path.unlink(missing_ok=True)
        return
    draft = path.with_suffix(".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(known)))
    draft.replace(path)
