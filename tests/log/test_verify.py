"""Each kind of tampering, and where verification says it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tidings.core.records import LIFECYCLE_TOPIC
from tidings.errors import LogCorruptError
from tidings.log import open_log
from tidings.log.chain import link

PLACES = {"t": (2, "records"), LIFECYCLE_TOPIC: (1, "first_records")}
"""Topics, with the number each has in a new file, and the table that its rows are in."""
ANOTHER = "payload = replace(payload, '6', '9')"
TURNED = "payload = replace(replace(replace(payload, '6', 'x'), '7', '6'), 'x', '7')"
SHORT = '{"n":5}\n{"n":6}'


def row(topic: str) -> int:
    """The row of the topic's fourth record."""
    return (PLACES[topic][0] << 40) + 4


def tamperings(topic: str) -> dict[str, tuple[list[str], str, int]]:
    """What is done to a file, and the topic and cursor at which it is found."""
    number, table = PLACES[topic]
    following, fourth = (number + 1) << 40, row(topic)
    batch = fourth + 4
    return {
        "an altered payload": ([f"UPDATE {table} SET payload = '{{}}' WHERE id = {fourth}"], topic, 4),
        "an altered kind": ([f"UPDATE {table} SET kind = 'other' WHERE id = {fourth}"], topic, 4),
        "an altered time": ([f"UPDATE {table} SET at_ms = 1 WHERE id = {fourth}"], topic, 4),
        "an altered link": ([f"UPDATE {table} SET link = zeroblob(32) WHERE id = {fourth}"], topic, 4),
        "a removed link": ([f"UPDATE {table} SET link = NULL WHERE id = {fourth}"], topic, 4),
        "a removed record": ([f"DELETE FROM {table} WHERE id = {fourth}"], topic, 4),
        "a removed tail": ([f"DELETE FROM {table} WHERE id > {fourth} AND id < {following}"], topic, 5),
        "a removed topic's records": ([f"DELETE FROM {table} WHERE id < {following}"], topic, 1),
        "a tail removed with its cursor": (
            [
                f"DELETE FROM {table} WHERE id > {fourth} AND id < {following}",
                f"UPDATE chains SET cursor = 4 WHERE id = {number}",
            ],
            topic,
            4,
        ),
        "a record inserted at the end": (
            [f"INSERT INTO {table} VALUES ({fourth + 20}, 1, 'k', '{{}}', NULL)"],
            topic,
            9,
        ),
        "a record inserted in the middle": (
            [
                *(f"UPDATE {table} SET id = id + 1 WHERE id = {fourth + n}" for n in (4, 1, 0)),
                f"INSERT INTO {table} VALUES ({fourth}, 1, 'k', '{{}}', NULL)",
                f"UPDATE chains SET cursor = cursor + 1 WHERE id = {number}",
            ],
            topic,
            4,
        ),
        "a record moved between topics": (
            [f"UPDATE {table} SET id = {following} + 2 WHERE id = {fourth}"],
            topic,
            4,
        ),
        "a payload inside a batch": ([f"UPDATE {table} SET {ANOTHER} WHERE id = {batch}"], topic, 6),
        "payloads that changed places": ([f"UPDATE {table} SET {TURNED} WHERE id = {batch}"], topic, 6),
        "a kind inside a batch": ([f"UPDATE {table} SET kind = 'k l k' WHERE id = {batch}"], topic, 6),
        "a kind spelled out": ([f"UPDATE {table} SET kind = 'k k k' WHERE id = {batch}"], topic, 6),
        "a kind that is no text": ([f"UPDATE {table} SET kind = x'00' WHERE id = {batch}"], topic, 6),
        "a record left out of a batch": (
            [f"UPDATE {table} SET kind = 'k ', payload = '{SHORT}' WHERE id = {batch}"],
            topic,
            6,
        ),
        "a batch in two rows": (
            [
                f"UPDATE {table} SET kind = 'k ', payload = '{SHORT}', id = {batch - 1} WHERE id = {batch}",
                f"INSERT INTO {table} SELECT {batch}, at_ms, 'k', '{{\"n\":7}}', link "
                f"FROM {table} WHERE id = {batch - 1}",
            ],
            topic,
            6,
        ),
        "a renamed topic": ([f"UPDATE chains SET name = 'renamed' WHERE id = {number}"], "renamed", 1),
        "a removed topic": ([f"DELETE FROM chains WHERE id = {number}"], "", 0),
        "records of no topic": ([f"DELETE FROM chains WHERE id = {number + 1}"], "", 0),
    }  # fmt: skip


def make(path: Path, topic: str = "t") -> None:
    """Five commits of one, then a batch of three, in `topic`; one record in `u`."""
    with open_log(path, clock=lambda: 1_700_000_000_000) as log:
        for number in range(5):
            log.append(topic, "k", {"n": number})
        log.append_batch([(topic, "k", {"n": number}) for number in range(5, 8)])
        log.append("u", "k", {})


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("tampering", tamperings("t"))
def test_tampering_is_found_where_it_happened(tmp_path: Path, tampering: str, where: str) -> None:
    path = tmp_path / "log.db"
    make(path, where)
    statements, topic, cursor = tamperings(where)[tampering]
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
            "UPDATE chains SET base_cursor = 4, "
            f"base_link = (SELECT link FROM records WHERE id = {row('t')}) WHERE id = 2"
        )
        connection.execute(f"DELETE FROM records WHERE id <= {row('t')}")
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
