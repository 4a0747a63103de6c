"""A turn with conversation servers: eight are asked, three of them never answer.

The turn must cost the shared deadline and not more, and nothing like it when all answer. Elapsed time,
because waiting is what is measured; the ratio is to the deadline itself. A breaker that has opened costs
nothing, so each round begins with a fresh asker.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import tidings as td
from benchmarks.measure import Measurement, measurement
from tidings.core.reminder import Payload
from tidings.mcp.conversation.asking import Asker
from tidings.mcp.conversation.consent import Grant
from tidings.mcp.conversation.errand import Words
from tidings.mcp.conversation.peer import LocalPeer
from tidings.mcp.conversation.store import ConsentStore

SERVERS = 8
HANGING = 3


async def _answer(_method: str, _params: Payload) -> object:
    return {"resultType": "complete", "context": "The schema is in docs/schema.md."}


async def _hang(_method: str, _params: Payload) -> object:
    return await asyncio.Event().wait()


async def _turn(folder: Path, hanging: int) -> tuple[float, float]:
    """Seconds that one message costs, and the deadline."""
    consents = ConsentStore(folder / f"consent-{hanging}.json")
    peers = [LocalPeer(f"s{n}", _hang if n < hanging else _answer) for n in range(SERVERS)]
    for peer in peers:
        consents.grant(Grant(server=peer.name, target=peer.target))
    asker = Asker(consents=consents, ledger=td.open_log("memory:"))
    asker.peers = peers
    words = Words(conversation="c", message="m", content="What about the schema?", project="p")
    started = time.perf_counter()
    results = await asker.ask(words)
    assert sum(result.kind == "answered" for result in results) == SERVERS - hanging
    return time.perf_counter() - started, asker.settings.deadline


def run(quick: bool) -> list[Measurement]:
    """What a turn costs with and without servers that hang, as shares of the deadline."""
    rounds = 2 if quick else 8
    with tempfile.TemporaryDirectory() as name:
        slow = [asyncio.run(_turn(Path(name), HANGING)) for _ in range(rounds)]
        fine = [asyncio.run(_turn(Path(name), 0)) for _ in range(rounds)]
    deadline = slow[0][1]
    waited, quick_one = (statistics.median(seconds for seconds, _ in each) for each in (slow, fine))
    return [
        measurement(
            f"a turn with {SERVERS} servers, {HANGING} of them hanging, over the deadline",
            waited / deadline,
            target="<= 1.1",
            detail=f"{waited * 1e3:.0f} ms, deadline {deadline * 1e3:.0f} ms",
        ),
        measurement(
            f"the same with all {SERVERS} answering",
            quick_one / deadline,
            target="<= 0.2",
            detail=f"{quick_one * 1e3:.1f} ms",
        ),
    ]
