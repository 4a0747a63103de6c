"""Bytes that pass: unchanged, whatever they are and however they arrive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.acp.proxy.script import Script
from tidings.acp.proxy.lane import Lane
from tidings.bridge.methods import METHODS

ODD_LINES = [
    b"",
    b"not json",
    b"[]",
    b'{"method":5}',
    b'{"id":true,"method":"session/prompt"}',
    b'{"jsonrpc":"2.0","method":"_vendor/thing","params":[1,2]}',
    b'{"method":"session/prompt"}',
    b'{"method":"session/prompt","id":1,"params":null}',
    b'{"method":"initialize","id":1}',
    b'{"id":1,"result":null}',
    b'{"id":null,"error":{"code":-32700}}',
    b'{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":7}}}',
    b'  {"id" : 1 , "result" : "\\u00e9\\/" }  \r',
    b"\xff\xfe system-reminder compaction_ \x00",
    b'{"method":"session/update","params":{"update":{"sessionUpdate":"user_message_chunk"}}}',
]
LINES = st.one_of(st.sampled_from(ODD_LINES), st.binary().map(lambda data: data.replace(b"\n", b"")))


def claimed(line: bytes) -> bool:
    return any(method.encode() in line for method in METHODS)


@given(st.lists(LINES, max_size=12), st.lists(st.integers(1, 40), max_size=20), st.booleans())
def test_lines_that_nobody_changes_arrive_byte_for_byte(
    lines: list[bytes], cuts: list[int], finished: bool
) -> None:
    data = b"\n".join([line for line in lines if not claimed(line)]) + (b"\n" if finished else b"")
    script = Script()
    there, back = bytearray(), bytearray()
    script.relay.from_editor._sink, script.relay.from_agent._sink = there.extend, back.extend
    assert script.interposer.awaiting == {}
    for lane, out in ((script.relay.from_editor, there), (script.relay.from_agent, back)):
        rest = data
        for cut in cuts:
            lane.feed(rest[:cut])
            rest = rest[cut:]
        lane.feed(rest)
        lane.end()
        assert bytes(out) == data


def lane(seen: list[bytes], out: bytearray, longest: int = 100) -> Lane:
    def look(line: bytes) -> bytes:
        seen.append(line)
        return b"<" + line

    return Lane(look, lambda chunk: b"!" in chunk, out.extend, longest)


def test_a_chunk_without_a_mark_is_not_opened() -> None:
    seen: list[bytes] = []
    out = bytearray()
    lane(seen, out).feed(b"one\ntwo\nthr")
    assert (seen, bytes(out)) == ([], b"one\ntwo\n")


def test_a_line_is_shown_whole_however_it_arrived() -> None:
    seen: list[bytes] = []
    out = bytearray()
    ours = lane(seen, out)
    for part in (b"on", b"e!", b"\nt", b"wo", b"\n"):
        ours.feed(part)
    assert (seen, bytes(out)) == ([b"one!\n"], b"<one!\ntwo\n")


def test_a_line_beyond_the_bound_is_passed_on_unread_while_it_arrives() -> None:
    seen: list[bytes] = []
    out = bytearray()
    ours = lane(seen, out, longest=10)
    ours.feed(b"!" * 8)
    assert bytes(out) == b""
    ours.feed(b"!" * 8)
    assert bytes(out) == b"!" * 16
    ours.feed(b"!!\nsmall!\n")
    assert (seen, bytes(out)) == ([b"small!\n"], b"!" * 18 + b"\n<small!\n")


def test_lines_of_our_own_never_fall_into_somebody_elses_line() -> None:
    out = bytearray()
    ours = lane([], out, longest=10)
    ours.feed(b"half")
    ours.put(b"own 1\n")
    ours.feed(b" a line\n" + b"x" * 20)
    ours.put(b"own 2\n")
    ours.feed(b"y\nz\n" + b"x" * 20)
    ours.feed(b"\n")
    long = b"x" * 20
    assert bytes(out) == b"own 1\nhalf a line\n" + long + b"y\nown 2\nz\n" + long + b"\n"


def test_what_has_no_newline_at_the_end_is_shown_and_passed_on() -> None:
    seen: list[bytes] = []
    out = bytearray()
    ours = lane(seen, out)
    ours.feed(b"last!")
    ours.end()
    ours.end()
    assert (seen, bytes(out)) == ([b"last!"], b"<last!")


def test_after_the_end_our_lines_do_not_fall_into_a_line_that_was_never_finished() -> None:
    out = bytearray()
    ours = lane([], out)
    ours.feed(b"one\nhalf")
    ours.end()
    ours.put(b"own 1\n")
    ours.put(b"own 2\n")
    assert bytes(out) == b"one\nhalf\nown 1\nown 2\n"


def test_what_waited_for_the_end_of_an_overlong_line_is_sent_when_the_stream_ends_instead() -> None:
    out = bytearray()
    ours = lane([], out, longest=10)
    ours.feed(b"x" * 20)
    ours.put(b"own 1\n")
    ours.end()
    ours.put(b"own 2\n")
    assert bytes(out) == b"x" * 20 + b"\nown 1\nown 2\n"
