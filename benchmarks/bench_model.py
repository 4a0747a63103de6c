"""Validating and encoding one reminder: the gate against bare msgspec, and against pydantic."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pydantic

from benchmarks.measure import Measurement, measurement, ratio
from tidings.core.producers import build

OPTIONS = {
    "body": "File changed externally: src/lib.rs. Re-read it before editing.",
    "tags": ["workspace", "file_changed"],
    "dedupe_key": "file_changed:src/lib.rs",
    "ttl_turns": 2,
    "preserve_on_compact": False,
    "propagate": "session",
    "role_hint": "system",
}
STAMPED = {**OPTIONS, "id": "0190abcd", "source": "in_pipeline", "fired_at_turn": 4}


class Bare(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    body: Annotated[str, msgspec.Meta(min_length=1)]
    tags: tuple[str, ...] = ()
    dedupe_key: str | None = None
    ttl_turns: Annotated[int, msgspec.Meta(ge=1)] | None = None
    preserve_on_compact: bool = False
    propagate: Literal["all", "session", "none"] = "session"
    role_hint: Literal["system", "developer", "user_block", "ephemeral_cache"] = "system"
    source: Literal["stdlib_provider", "hook", "bridge", "in_pipeline", "inherited"]
    fired_at_turn: int
    originating_agent_id: str | None = None


class Pydantic(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    id: str
    body: Annotated[str, pydantic.Field(min_length=1)]
    tags: tuple[str, ...] = ()
    dedupe_key: str | None = None
    ttl_turns: Annotated[int, pydantic.Field(ge=1)] | None = None
    preserve_on_compact: bool = False
    propagate: Literal["all", "session", "none"] = "session"
    role_hint: Literal["system", "developer", "user_block", "ephemeral_cache"] = "system"
    source: Literal["stdlib_provider", "hook", "bridge", "in_pipeline", "inherited"]
    fired_at_turn: int
    originating_agent_id: str | None = None


_encode = msgspec.json.Encoder().encode


def run(quick: bool) -> list[Measurement]:
    """Both ratios, from the same options to the same JSON."""
    number = 500 if quick else 10_000
    rounds = 3 if quick else 25

    def gate() -> None:
        for _ in range(number):
            _encode(build("pipeline", OPTIONS, "0190abcd", 4))

    def bare() -> None:
        for _ in range(number):
            _encode(msgspec.convert(STAMPED, Bare))

    def pydantic_() -> None:
        for _ in range(number):
            Pydantic.model_validate(STAMPED).model_dump_json().encode()

    over_bare, ours, theirs = ratio(gate, bare, rounds=rounds)
    against, slow, _ = ratio(pydantic_, gate, rounds=rounds)
    per = 1e6 / number
    return [
        measurement(
            "validate and encode, gate over bare msgspec",
            over_bare,
            target="<= 1.5",
            detail=f"{ours * per:.2f} us against {theirs * per:.2f} us",
        ),
        measurement(
            "validate and encode, pydantic over gate",
            against,
            target=">= 3",
            detail=f"pydantic {slow * per:.2f} us",
        ),
    ]
