"""Lines become messages and back; what is no message says why."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.bridge import rpc
from tidings.bridge.rpc import Call, Incoming, Malformed, Reply, RpcError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=4)
IDS = st.text(max_size=8) | st.integers(-(2**53), 2**53)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"method":"m","id":1}', Call("m", {}, 1)),
        (b'{"method":"m","params":{"a":1},"id":"x"}', Call("m", {"a": 1}, "x")),
        (b'{"method":"m","params":null}\n', Call("m", {}, None, wants_reply=False)),
        (b'{"method":"m","id":null}', Call("m", {}, None)),
        (b'{"id":1,"result":null}', Reply(1)),
        (b'{"id":null,"error":{"code":-32602}}', Reply(None, error={"code": -32602})),
        (b'\xef\xbb\xbf{"method":"m","id":1}\r\n', Call("m", {}, 1)),
        (rb'{"method":"m","params":{"a":"half \ud83d"},"id":1}', Call("m", {"a": "half \ufffd"}, 1)),
        (rb'{"method":"m","params":{"a":"\ud83d\ude00\uDE00"}}', Call("m", {"a": "😀\ufffd"}, None, False)),
        (
            rb'{"method":"m","params":{"a":"\\ud83d \ud83d"}}',
            Call("m", {"a": "\\ud83d \ufffd"}, None, False),
        ),
    ],
)
def test_a_line_is_read_as_the_message_it_is(line: bytes, message: Incoming) -> None:
    assert rpc.read(line) == message


@pytest.mark.parametrize(
    ("line", "code", "id", "names"),
    [
        (b"{", rpc.PARSE_ERROR, None, "not JSON"),
        (b"\xff\xfe", rpc.PARSE_ERROR, None, "not JSON"),
        (b"[" * 100_000, rpc.PARSE_ERROR, None, ""),
        (b'{"id":7,"method":"m","params":{"a":"\xff"}}', rpc.PARSE_ERROR, 7, "not JSON"),
        (b'{"id":"x","method":"m","params":{"a":NaN}}', rpc.PARSE_ERROR, "x", "not JSON"),
        (b'{"id":7,"result":NaN}', rpc.PARSE_ERROR, None, "not JSON"),
        (b"\xef\xbb\xbf" * 100_000, rpc.PARSE_ERROR, None, "not JSON"),
        (b"[1]", rpc.INVALID_REQUEST, None, "[1]"),
        (b'{"id":1}', rpc.INVALID_REQUEST, None, "`method`"),
        (b'{"id":1,"error":"no"}', rpc.INVALID_REQUEST, None, "`error`"),
        (b'{"id":1,"method":2}', rpc.INVALID_REQUEST, 1, "got 2"),
        (b'{"id":"x","method":"m","params":[1]}', rpc.INVALID_PARAMS, "x", "got [1]"),
    ],
)
def test_what_is_no_message_says_why(line: bytes, code: int, id: rpc.Id, names: str) -> None:
    read = rpc.read(line)
    assert isinstance(read, Malformed)
    assert (read.error.code, read.id) == (code, id)
    assert names in read.error.message


def test_a_line_beyond_the_bound_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc, "LONGEST_LINE", 10)
    read = rpc.read(b'{"method":"m"}')
    assert isinstance(read, Malformed)
    assert read.error.message == "a message may have 10 bytes; this one has 14"


@given(method=st.text(), params=OBJECTS, id=IDS)
def test_what_is_written_is_read_back(method: str, params: dict[str, object], id: str | int) -> None:
    assert rpc.read(rpc.call_line(method, params, id)) == Call(method, params, id)
    assert rpc.read(rpc.call_line(method, params)) == Call(method, params, None, wants_reply=False)
    assert rpc.read(rpc.result_line(id, params)) == Reply(id, params)


def test_an_error_is_written_with_its_data() -> None:
    line = rpc.error_line(7, RpcError(-32602, "no", {"code": "HARN-RMD-002"}))
    assert json.loads(line) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32602, "message": "no", "data": {"code": "HARN-RMD-002"}},
    }
    assert (
        rpc.error_line(None, RpcError(1, "x"))
        == b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}\n'
    )


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(line: bytes) -> None:
    assert isinstance(rpc.read(line), (Call, Reply, Malformed))
