"""The hub over HTTP: who may ask, what is asked, what is refused and how."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable, Coroutine
from pathlib import Path

import jsonschema
import pytest

from tests.hub.desks import DEADLINE
from tests.hub.running import Client, place_in, running
from tidings.bridge.rpc import INVALID_PARAMS, INVALID_REQUEST, UNKNOWN_SESSION
from tidings.hub.client import ask
from tidings.hub.daemon import AlreadyRunning, serve
from tidings.hub.failure import HubError
from tidings.hub.operations import OPERATIONS
from tidings.hub.place import token_of
from tidings.hub.wire import LONGEST_BODY

Scene = Callable[[Client], Coroutine[object, object, None]]


def play(folder: Path, scene: Scene) -> None:
    async def run() -> None:
        async with asyncio.timeout(DEADLINE), running(folder) as client:
            await scene(client)

    asyncio.run(run())


def test_a_reminder_goes_the_whole_way(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        session = {"sessionId": "s", "agent": "helper", "workspace": str(tmp_path), "tags": ["ci"]}
        assert (await client.ask("POST", "/v1/sessions", session)).body == {
            "sessionId": "s", "heartbeatSeconds": 60.0, "waiting": 0,
        }  # fmt: skip
        sent = {"id": "r1", "body": "red", "to": {"session": "s"}, "ttlTurns": 2, "tags": ["build"]}
        answer = await client.ask("POST", "/v1/reminders", sent)
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        assert isinstance(answer.body, dict)
        assert {**answer.body, "deliverUntilMs": 0} == {
            "reminderId": "r1", "state": "waiting", "sessions": ["s"], "deliverUntilMs": 0,
        }  # fmt: skip
        leased = (await client.ask("POST", "/v1/leases", {"sessionId": "s", "waitSeconds": 5})).body
        assert isinstance(leased, dict)
        (row,) = leased["reminders"]
        assert {**row, "leaseUntilMs": 0} == {
            "reminderId": "r1",
            "reminder": {
                "id": "r1", "tags": ["build"], "ttl_turns": 2, "preserve_on_compact": False,
                "propagate": "session", "role_hint": "system", "body": "red",
            },
            "mode": "finish_step",
            "leaseUntilMs": 0,
        }  # fmt: skip
        (listed,) = (await client.ask("GET", "/v1/reminders?sessionId=s")).body["reminders"]  # type: ignore[index]
        assert (listed["state"], listed["deliveries"]) == (
            "leased",
            [{"sessionId": "s", "state": "leased"}],
        )
        done = {"sessionId": "s", "reminderIds": ["r1"]}
        assert (await client.ask("POST", "/v1/leases/acknowledge", done)).body == {"acknowledged": 1}
        gone = await client.ask("POST", "/v1/reminders/revoke", {"reminderId": "r1"})
        assert gone.status == 409
        status = (await client.ask("GET", "/v1/status")).body
        assert isinstance(status, dict)
        assert (status["sessions"], status["reminders"]["acknowledged"]) == (1, 1)

    play(tmp_path, scene)


WRONG_TOKENS = [None, "Bearer wrong", "Basic x", "Bearer "]


@pytest.mark.parametrize("token", WRONG_TOKENS)
def test_without_the_token_nothing_is_told_but_that_the_hub_lives(
    tmp_path: Path, token: str | None
) -> None:
    async def scene(client: Client) -> None:
        headers = {"Authorization": token}
        for each in OPERATIONS:
            assert (await client.ask(each.verb, each.path, {}, headers=headers)).status == 401
        assert (await client.ask("GET", "/v1/records", headers=headers)).status == 401
        assert (await client.ask("GET", "/v1/nothing", headers=headers)).status == 401
        assert (await client.ask("GET", "/v1/health", headers=headers)).status == 200
        assert (await client.ask("GET", "/v1/openapi.json", headers=headers)).status == 200

    play(tmp_path, scene)


def test_a_page_of_another_site_and_a_rebound_name_are_turned_away(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        own = f"127.0.0.1:{client.port}"
        refused: list[dict[str, str | None]] = [
            {"Host": "evil.example"}, {"Host": "127.0.0.1"}, {"Host": f"evil.example:{client.port}"},
            {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"https://{own}"},
        ]  # fmt: skip
        for headers in refused:
            for path in ("/v1/health", "/v1/status"):
                answer = await client.ask("GET", path, headers=headers)
                assert (headers, answer.status) == (headers, 403)
        for fine in ({"Host": f"localhost:{client.port}"}, {"Origin": f"http://{own}"}):
            assert (await client.ask("GET", "/v1/status", headers=fine)).status == 200

    play(tmp_path, scene)


def code_of(body: object) -> object:
    assert isinstance(body, dict)
    return body["error"]["code"]


def test_each_mistake_has_its_status_its_code_and_its_words(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        long = b'{"body": "' + b"x" * LONGEST_BODY + b'"}'
        plain = {"Content-Type": "text/plain"}
        post = "/v1/reminders"
        told = [
            (await client.ask("POST", post, raw=b"{"), 400, -32700),
            (await client.ask("POST", post, [1]), 400, INVALID_REQUEST),
            (await client.ask("POST", post, {}, headers=plain), 415, INVALID_REQUEST),
            (await client.ask("POST", post, raw=long), 413, INVALID_REQUEST),
            (await client.ask("POST", post, {"body": "x"}), 400, INVALID_PARAMS),
            (await client.ask("GET", "/v1/reminders?x=1"), 400, INVALID_PARAMS),
            (await client.ask("GET", "/v1/reminders?sessionId=a&sessionId=b"), 400, INVALID_REQUEST),
            (await client.ask("POST", "/v1/leases", {"sessionId": "nobody"}), 404, UNKNOWN_SESSION),
            (await client.ask("POST", "/v1/reminders/revoke", {"reminderId": "x"}), 404, INVALID_PARAMS),
            (await client.ask("DELETE", post), 405, -32601),
            (await client.ask("GET", "/v2/status"), 404, -32601),
        ]
        assert [(answer.status, code_of(answer.body)) for answer, _, _ in told] == [
            (status, code) for _, status, code in told
        ]
        wrong = await client.ask("POST", post, {"body": " ", "ttlTurns": 0, "to": {"all": True}})
        assert isinstance(wrong.body, dict)
        error = wrong.body["error"]
        assert (error["data"]["code"], [one["field"] for one in error["data"]["problems"]]) == (
            "HARN-RMD-002", ["body", "ttlTurns"],
        )  # fmt: skip
        first = {"id": "r1", "body": "one", "to": {"all": True}}
        assert (await client.ask("POST", post, first)).status == 200
        assert (await client.ask("POST", post, {**first, "body": "two"})).status == 409

    play(tmp_path, scene)


def test_the_document_describes_every_operation_and_its_schemas_hold(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        document = (await client.ask("GET", "/v1/openapi.json")).body
        assert isinstance(document, dict)
        served = {(each.path, each.verb.lower()) for each in OPERATIONS}
        written = {(path, verb) for path, verbs in document["paths"].items() for verb in verbs}
        beside = {
            ("/v1/records", "get"), ("/v1/health", "get"), ("/v1/login", "post"), ("/v1/logout", "post"),
            ("/v1/hosts/{host}/hook", "post"),
        }  # fmt: skip
        assert written == served | beside

        def check(name: str, value: object) -> None:
            schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
            jsonschema.validate(value, schema)

        sent = {"body": "red", "to": {"all": True}}
        check("Remind", sent)
        check("Reminded", (await client.ask("POST", "/v1/reminders", sent)).body)
        check("PendingAnswer", (await client.ask("GET", "/v1/reminders")).body)
        check("StatusAnswer", (await client.ask("GET", "/v1/status")).body)
        check("Refusal", (await client.ask("POST", "/v1/reminders", {})).body)
        check("Refusal", (await client.ask("POST", "/v1/leases", {})).body)
        with pytest.raises(jsonschema.ValidationError):
            check("Register", {"sessionId": ""})

    play(tmp_path, scene)


def test_the_socket_answers_the_same_questions_without_a_token(tmp_path: Path) -> None:
    async def scene(_: Client) -> None:
        path = str(tmp_path / "hub.socket")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        sent = await ask(path, "hub/remind", {"id": "r1", "body": "red", "to": {"all": True}})
        assert (sent["reminderId"], sent["sessions"]) == ("r1", [])
        assert (await ask(path, "hub/pending", {}))["pendingCount"] == 1
        assert (await ask(path, "hub/clear", {"id": "r1"})) == {"removedCount": 1}

    play(tmp_path, scene)


def test_there_is_one_hub_and_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        with pytest.raises(AlreadyRunning):
            await serve(place_in(tmp_path), 0, lambda _: None, asyncio.Event())
        other = tmp_path / "other"
        other.mkdir()
        with pytest.raises(HubError, match=f"127.0.0.1:{client.port} cannot be used: .*--port"):
            await serve(place_in(other), client.port, lambda _: None, asyncio.Event())

    play(tmp_path, scene)


def test_a_token_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    token = token_of(place)
    assert (token_of(place), stat.S_IMODE(place.token_file.stat().st_mode)) == (token, 0o600)
    place.token_file.chmod(0o644)
    with pytest.raises(HubError, match="only you can read"):
        token_of(place)


def test_what_a_crash_left_behind_makes_way(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    place.state_file.write_text('{"pid": 1}')
    place.lock_file.touch()
    left = socket.socket(socket.AF_UNIX)
    left.bind(place.socket)
    left.close()

    async def scene(client: Client) -> None:
        assert (await client.ask("GET", "/v1/status")).status == 200

    play(tmp_path, scene)
    assert not place.state_file.exists()
    assert not Path(place.socket).exists()
