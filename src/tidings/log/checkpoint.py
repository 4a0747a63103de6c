"""Checkpoints: the record that a purge leaves, and reading the newest of each topic again.

A checkpoint stands on the topic `log.checkpoints`, which is chained like every other, so that it cannot be
changed or taken away unnoticed either. That topic can be purged too: the checkpoints that still count
are then stated again behind the cut. Both logs write through this module; `verify` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tidings.log.entry import Entry, encode
from tidings.log.record import CHECKPOINTS, Checkpoint

KIND = "log.checkpoint"

_read = msgspec.json.Decoder(Checkpoint).decode


def entries_for(checkpoints: Iterable[Checkpoint], now: int) -> list[Entry]:
    """The checkpoints as records on their way in."""
    return [Entry(CHECKPOINTS, KIND, encode(msgspec.structs.asdict(one)), now) for one in checkpoints]


def newest(payloads: Iterable[str]) -> dict[str, Checkpoint]:
    """The newest checkpoint of each topic, from the payloads of their records, oldest first.

    Raises:
        ValueError: a payload that is no checkpoint.
    """
    return {one.topic: one for one in map(_read, payloads)}


def told(purged: Checkpoint, known: Mapping[str, Checkpoint]) -> list[Checkpoint]:
    """What a purge writes: its checkpoint, and before one of the checkpoints those that still count."""
    if purged.topic != CHECKPOINTS:
        return [purged]
    return [*(one for topic, one in known.items() if topic != CHECKPOINTS), purged]
