"""What a session wrote itself it is not told, as long as nobody else works in its folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.hub.desks import register
from tests.hub.workspace.scenes import Scene, scene
from tidings.core.reminder import Payload
from tidings.hub.operations import BY_METHOD, operate
from tidings.hub.shapes import TellRecord
from tidings.hub.workspace.writes import RECENT_MS, edited
from tidings.shell.ids import now_ms


def emitted(path: object, cursor: int = 1, at_ms: int | None = None) -> Payload:
    event: Payload = {"id": "e", "event": "file_edited", "payload": {"path": path}}
    return {"cursor": cursor, "kind": "session.emitted", "atMs": at_ms or now_ms(), "payload": event}


async def told(running: Scene, *records: Payload) -> None:
    params: Payload = {"sessionId": "s", "epoch": "e", "stream": "transcript", "records": list(records)}
    await operate(running.hub, BY_METHOD["hub/tell"], params)


def test_only_what_others_write_is_told_to_a_session_that_is_alone(tmp_path: Path) -> None:
    folder = tmp_path.resolve()

    async def act() -> None:
        async with scene(folder) as running:
            await running.attach("[watch.files]\n")
            await running.watching("files")
            (tmp_path / "mine.py").write_text("x = 1\n")
            await told(running, emitted("mine.py"))
            (tmp_path / "theirs.py").write_text("y = 1\n")
            heard = await running.hear("theirs.py")
            assert heard.reminder["body"] == "theirs.py was created on disk."
            bodies = [str(row.reminder["body"]) for row in running.heard]
            assert bodies == []

    asyncio.run(act())


def test_with_another_session_in_the_folder_everybody_hears_of_it(tmp_path: Path) -> None:
    folder = tmp_path.resolve()

    async def act() -> None:
        async with scene(folder) as running:
            await running.attach("[watch.files]\n")
            await register(running.hub, "other", workspace=str(folder / "sub"))
            await running.watching("files")
            (tmp_path / "mine.py").write_text("x = 1\n")
            await told(running, emitted("mine.py"))
            await running.hear("mine.py was created")

    asyncio.run(act())


def test_only_fresh_events_of_the_right_shape_name_a_file() -> None:
    rows = [
        emitted("a.py"),
        emitted("old.py", at_ms=1),
        emitted(7),
        {**emitted("b.py"), "kind": "transcript.message"},
        {**emitted("c.py"), "payload": {"event": "file_read", "payload": {"path": "c.py"}}},
        {**emitted("d.py"), "payload": {"event": "file_edited", "payload": "d.py"}},
    ]
    records = [
        TellRecord(cursor=1, kind=str(row["kind"]), at_ms=int(str(row["atMs"])), payload=row["payload"])  # type: ignore[arg-type]
        for row in rows
    ]
    assert list(edited(records, now_ms())) == ["a.py"]
    assert list(edited(records, now_ms() + RECENT_MS + 1)) == []
