"""The persistent list of messages: whatever its length, it answers as a plain list would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidings.core.messages import Message, MessageList

LENGTHS = st.integers(0, 200)


def talk(count: int, word: str = "said") -> list[Message]:
    return [{"role": "user", "content": f"{word} {number}"} for number in range(count)]


def grown(messages: list[Message]) -> MessageList:
    made = MessageList()
    for message in messages:
        made = made.append(message)
    return made


@given(length=LENGTHS, count=LENGTHS)
def test_the_last_message_and_what_follows_a_place_are_those_of_a_list(length: int, count: int) -> None:
    messages = talk(length)
    for made in (grown(messages), MessageList.of(messages)):
        assert list(made.after(count)) == messages[count:]
        assert made.last == (messages[-1] if messages else None)
        assert list(made.listing()) == messages


@given(length=LENGTHS, more=LENGTHS)
def test_a_list_begins_with_every_earlier_version_of_itself(length: int, more: int) -> None:
    messages = talk(length + more)
    early = grown(messages[:length])
    late = early
    for message in messages[length:]:
        late = late.append(message)
    assert late.begins_with(early)
    assert early.begins_with(late) == (more == 0)


@given(length=st.integers(1, 200), more=LENGTHS, changed=st.integers(0, 199))
def test_a_list_with_another_message_anywhere_does_not_begin_with_it(
    length: int, more: int, changed: int
) -> None:
    messages = talk(length + more)
    other = messages[:length]
    other[changed % length] = {"role": "user", "content": "something else"}
    assert not MessageList.of(messages).begins_with(MessageList.of(other))


@given(continued=st.lists(st.integers(0, 1_000), max_size=60))
def test_every_version_stays_as_it_was_whichever_of_them_is_continued(continued: list[int]) -> None:
    versions: list[tuple[MessageList, list[Message]]] = [(MessageList(), [])]
    for number, place in enumerate(continued):
        made, plain = versions[place % len(versions)]
        message = {"role": "user", "content": f"said {number}"}
        versions.append((made.append(message), [*plain, message]))
    for made, plain in versions:
        last = plain[-1] if plain else None
        assert ([*made], [*made.listing()], len(made), made.last) == (plain, plain, len(plain), last)
        for other, begun in versions:
            assert made.begins_with(other) == (plain[: len(begun)] == begun)
