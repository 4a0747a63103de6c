"""The page for other languages shows what our own server sends, and what a host reads."""

from __future__ import annotations

import json
import re

from tests.mcp.emit.fixture import high
from tests.mcp.emit.raw import ROOT, Frame, Raw
from tests.mcp.emit.test_listen import play
from tidings.mcp import Reminders
from tidings.mcp.advertisement import Advertised, read
from tidings.mcp.names import METHOD
from tidings.mcp.notification import read as read_notification

PAGE = (ROOT / "docs" / "how-to" / "emit-from-other-languages.md").read_text()
BLOCKS: list[Frame] = [json.loads(found) for found in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
ADVERTISED, OLD, LISTEN, ACKNOWLEDGED, NEW, RESULT = BLOCKS


def test_the_advertisement_is_one_that_a_host_reads() -> None:
    assert read(ADVERTISED["capabilities"]) == Advertised()


def test_the_reminders_are_ones_that_a_host_reads() -> None:
    for frame in (OLD, NEW):
        received = read_notification(frame["method"], frame["params"])
        assert received is not None
        assert received.options["body"] == frame["params"]["reminder"]["body"]


def test_our_server_answers_the_request_of_the_page_with_the_frames_of_the_page() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        await client.send(LISTEN)
        await client.next()
        await reminders.emit("cargo check passed after your last edit.")
        await client.until(method=METHOD)
        await reminders.aclose()
        await client.until(id=7)
        return client.seen

    acknowledged, told, ended = play(script, high())
    assert {"jsonrpc": "2.0", **acknowledged} == ACKNOWLEDGED
    assert told["params"]["_meta"] == NEW["params"]["_meta"]
    assert told["params"]["reminder"].items() >= {"body": NEW["params"]["reminder"]["body"]}.items()
    ours, shown = ended["result"], RESULT["result"]
    assert (ended["id"], ours["resultType"]) == (RESULT["id"], shown["resultType"])
    assert ours["_meta"].items() >= shown["_meta"].items()
