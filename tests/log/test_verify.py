"""Each kind of tampering, and where verification says it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tidings.errors import LogCorruptError
from tidings.log import open_log
from tidings.log.chain import link

ROW = (1 << 40) + 4
SECOND = 2 << 40
BATCH = ROW + 4
ANOTHER = "payload = replace(payload, '6', '9')"
TURNED = "payload = replace(replace(replace(payload, '6', 'x'), '7', '6'), 'x', '7')"
SHORT = '{"n":5}\n{"n":6}'
TAMPERINGS = {
    "an altered payload": ([f"UPDATE records SET payload = '{{}}' WHERE id = {ROW}"], "t", 4),
    "an altered kind": ([f"UPDATE records SET kind = 'other' WHERE id = {ROW}"], "t", 4),
    "an altered time": ([f"UPDATE records SET at_ms = 1 WHERE id = {ROW}"], "t", 4),
    "an altered link": ([f"UPDATE records SET link = zeroblob(32) WHERE id = {ROW}"], "t", 4),
    "a removed link": ([f"UPDATE records SET link = NULL WHERE id = {ROW}"], "t", 4),
    "a removed record": ([f"DELETE FROM records WHERE id = {ROW}"], "t", 4),
    "a removed tail": ([f"DELETE FROM records WHERE id > {ROW} AND id < {SECOND}"], "t", 5),
    "a removed topic's records": (["DELETE FROM records WHERE id < 2 << 40"], "t", 1),
    "a tail removed with its cursor": (
        [
            f"DELETE FROM records WHERE id > {ROW} AND id < {SECOND}",
            "UPDATE topics SET cursor = 4 WHERE id = 1",
        ],
        "t",
        4,
    ),
    "a record inserted at the end": (
        [f"INSERT INTO records VALUES ({ROW + 20}, 1, 'k', '{{}}', NULL)"],
        "t",
        9,
    ),
    "a record inserted in the middle": (
        [
            *(f"UPDATE records SET id = id + 1 WHERE id = {ROW + n}" for n in (4, 1, 0)),
            f"INSERT INTO records VALUES ({ROW}, 1, 'k', '{{}}', NULL)",
            "UPDATE topics SET cursor = cursor + 1 WHERE id = 1",
        ],
        "t",
        4,
    ),
    "a record moved between topics": ([f"UPDATE records SET id = {SECOND} + 2 WHERE id = {ROW}"], "t", 4),
    "a payload inside a batch": ([f"UPDATE records SET {ANOTHER} WHERE id = {BATCH}"], "t", 6),
    "payloads that changed places": ([f"UPDATE records SET {TURNED} WHERE id = {BATCH}"], "t", 6),
    "a kind inside a batch": ([f"UPDATE records SET kind = 'k l k' WHERE id = {BATCH}"], "t", 6),
    "a kind spelled out": ([f"UPDATE records SET kind = 'k k k' WHERE id = {BATCH}"], "t", 6),
    "a kind that is no text": ([f"UPDATE records SET kind = x'00' WHERE id = {BATCH}"], "t", 6),
    "a record left out of a batch": (
        [f"UPDATE records SET kind = 'k ', payload = '{SHORT}' WHERE id = {BATCH}"],
        "t",
        6,
    ),
    "a batch in two rows": (
        [
            f"UPDATE records SET kind = 'k ', payload = '{SHORT}', id = {BATCH - 1} WHERE id = {BATCH}",
            f"INSERT INTO records SELECT {BATCH}, at_ms, 'k', '{{\"n\":7}}', link "
            f"FROM records WHERE id = {BATCH - 1}",
        ],
        "t",
        6,
    ),
    "a renamed topic": (["UPDATE topics SET name = 'renamed' WHERE id = 1"], "renamed", 1),
    "a removed topic": (["DELETE FROM topics WHERE id = 1"], "", 0),
    "records of no topic": (["DELETE FROM topics WHERE id = 2"], "", 0),
}  # fmt: skip


def make(path: Path) -> None:
    """Five commits of one, then a batch of three, in `t`; one record in `u`."""
    with open_log(path, clock=lambda: 1_700_000_000_000) as log:
        for number in range(5):
            log.append("t", "k", {"n": number})
        log.append_batch([("t", "k", {"n": number}) for number in range(5, 8)])
        log.append("u", "k", {})


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_tampering_is_found_where_it_happened(tmp_path: Path, tampering: str) -> None:
    path = tmp_path / "log.db"
    make(path)
    statements, topic, cursor = TAMPERINGS[tampering]
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0
        connection.commit()
    with open_log(path) as log, pytest.raises(LogCorruptError) as raised:
        log.verify()
    assert (raised.value.topic, raised.value.cursor) == (topic, cursor)
    assert str(path) in str(raised.value)


def test_history_cut_off_without_a_checkpoint_is_found(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE topics SET base_cursor = 4, "
            f"base_link = (SELECT link FROM records WHERE id = {ROW}) WHERE id = 1"
        )
        connection.execute(f"DELETE FROM records WHERE id <= {ROW}")
        connection.commit()
    with open_log(path) as log, pytest.raises(LogCorruptError, match="no checkpoint says") as raised:
        log.verify()
    assert (raised.value.topic, raised.value.cursor) == ("t", 4)


def test_a_page_overwritten_with_noise_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(path) as log:
        log.append_batch([("t", "k", {"text": "x" * 1000}) for _ in range(100)])
    with path.open("r+b") as file:
        file.seek(5 * 4096)
        file.write(b"\xff" * 4096 * 3)
    with open_log(path) as log, pytest.raises(LogCorruptError):
        log.verify()


def test_a_link_depends_on_where_one_value_ends_and_the_next_begins() -> None:
    links = {
        link(bytes(32), "t", [(1, 1, "ab", "c", None)]),
        link(bytes(32), "t", [(1, 1, "a", "bc", None)]),
        link(bytes(32), "ta", [(1, 1, "b", "c", None)]),
        link(bytes(32), "t", [(1, 11, "a", "bc", None)]),
        link(bytes(32), "t", [(11, 1, "a", "bc", None)]),
        link(b"\1" + bytes(31), "t", [(1, 1, "ab", "c", None)]),
    }
    assert len(links) == 6
