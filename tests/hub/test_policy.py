"""`[retention]` of config.toml: what it may say, and that every mistake is named with its fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidings.errors import CallerError
from tidings.hub.amounts import AGES, SIZES, read_age, read_size
from tidings.hub.failure import HubError
from tidings.hub.policy import Policy, read_policy

DAY = 86_400_000


def written(home: Path, text: str) -> Path:
    (home / "config.toml").write_text(text)
    return home


def test_without_a_file_or_table_the_defaults_hold(tmp_path: Path) -> None:
    expected = Policy(max_age=30 * DAY, max_size=1 << 30, max_session_records=100_000)
    assert read_policy(tmp_path) == Policy() == expected
    assert read_policy(written(tmp_path, "[other]\nx = 1\n")) == expected


def test_each_field_is_read_and_can_be_switched_off(tmp_path: Path) -> None:
    text = '[retention]\nmax_age = "2w"\nmax_size = "500 MB"\nmax_session_records = 7\n'
    expected = Policy(max_age=14 * DAY, max_size=500_000_000, max_session_records=7)
    assert read_policy(written(tmp_path, text)) == expected
    text = '[retention]\nmax_age = "off"\nmax_size = "off"\nmax_session_records = "off"\n'
    expected = Policy(max_age=None, max_size=None, max_session_records=None)
    assert read_policy(written(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('max_age = "30 bananas"', "`retention.max_age` is '30 bananas'; give a whole number and"),
        ("max_age = 30", "`retention.max_age` is 30; give a whole number and one of s, m, h, d, w"),
        ('max_size = "1Gib"', "`retention.max_size` is '1Gib'; give a whole number and one of B, KB, MB"),
        ('max_size = "5KiB"', "`retention.max_size` is '5KiB'; give at least '1MiB'"),
        ("max_session_records = 0", "`retention.max_session_records` is 0; give a whole number"),
        ("max_session_records = true", "`retention.max_session_records` is True; give a whole number"),
        ('age = "30d"', "`retention.age` is not known; known are max_age, max_size, max_session_records"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_field_and_the_fix(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(HubError) as raised:
        read_policy(written(tmp_path, f"[retention]\n{line}\n"))
    assert str(raised.value).startswith(f"{str(tmp_path / 'config.toml')!r}: {told}")


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(HubError, match=r"max_age` is 1; .*max_size` is 2; "):
        read_policy(written(tmp_path, "[retention]\nmax_age = 1\nmax_size = 2\n"))


@pytest.mark.parametrize(
    ("text", "told"),
    [("[retention", "cannot be read"), ("retention = 5", "`retention` is 5; write a table: [retention]")],
)
def test_a_file_that_is_no_such_table_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(HubError) as raised:
        read_policy(written(tmp_path, text))
    assert told in str(raised.value)


@pytest.mark.parametrize("unit", AGES)
def test_every_unit_of_an_age_is_read(unit: str) -> None:
    assert read_age(f" 3{unit} ", "age") == read_age(f"3 {unit}", "age") == 3 * AGES[unit]


@pytest.mark.parametrize("unit", SIZES)
def test_every_unit_of_a_size_is_read(unit: str) -> None:
    assert read_size(f"3{unit}", "size") == 3 * SIZES[unit]


@pytest.mark.parametrize(
    "value", ["", "d", "3", "-3d", "3.5d", "3dd", "3 D", "٣d", None, 3, "9999999999999d"]
)
def test_what_is_no_age_is_refused(value: object) -> None:
    with pytest.raises(CallerError, match=r"^--older-than is .*; give a whole number and one of s, m"):
        read_age(value, "--older-than")
