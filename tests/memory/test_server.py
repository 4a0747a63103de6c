"""The server without a transport: what it shows once, what it keeps, what its tools do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import jsonschema
import pytest

from tests.memory.opening import DEADLINE, NOW, open_store, redact
from tidings.core.reminder import Payload
from tidings.memory.background import Background
from tidings.memory.failure import MemoryInputError
from tidings.memory.ingest import Consent, see
from tidings.memory.server import SHOWN_AGAIN_AFTER, MemoryServer
from tidings.memory.store import MemoryStore
from tidings.memory.tools import TOOLS

SAID = "We deploy to production on Tuesdays only."
ASKED = "When may we deploy to production?"
BOTH = Consent(user=True, assistant=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path / "memory.db") as opened:
        opened.remember(text=SAID, project="harbor")
        yield opened


def contents(told: Payload, field: str = "content") -> list[object]:
    memories = told["memories"]
    assert isinstance(memories, list)
    return [memory[field] for memory in memories]


def test_a_memory_is_shown_once_per_conversation_and_again_much_later(store: MemoryStore) -> None:
    with MemoryServer(store, redact=redact, project="harbor") as server:
        shown = [
            bool(server.user_message(ASKED, conversation="one").items) for _ in range(SHOWN_AGAIN_AFTER + 2)
        ]
        other = server.user_message(ASKED, conversation="two")
    assert shown == [True, *[False] * (SHOWN_AGAIN_AFTER - 1), True, False]
    assert [item.content for item in other.items] == [SAID]
    (kept,) = store.list()
    assert kept.surfaced == 3


def test_what_was_seen_is_not_kept_without_consent(store: MemoryStore) -> None:
    with MemoryServer(store, redact=redact, project="harbor") as server:
        server.user_message("The gate sensors in hall B are replaced every autumn.")
        server.assistant_response("I replaced the gate sensors in hall B and tested them.")
    assert store.count() == 1


def test_with_consent_what_was_seen_is_kept_as_turns_of_their_conversation(store: MemoryStore) -> None:
    with MemoryServer(store, redact=redact, project="harbor", consent=BOTH) as server:
        server.user_message("The gate sensors in hall B are replaced every autumn.", conversation="c")
        server.assistant_response("I ordered twelve sensors for hall B today.", conversation="c")
        server.user_message("ok, thanks")
    seen = [(m.text, m.role, m.kind, m.conversation, m.project) for m in store.list() if m.kind == "turn"]
    assert seen == [
        ("I ordered twelve sensors for hall B today.", "assistant", "turn", "c", "harbor"),
        ("The gate sensors in hall B are replaced every autumn.", "user", "turn", "c", "harbor"),
    ]
    assert server.background.counts["says too little"] == 1


def test_each_consent_counts_for_its_role_alone() -> None:
    text = "The gate sensors in hall B are replaced every autumn."
    told = [
        see(text, role, consent=Consent(user=user, assistant=assistant), redact=redact).left_out
        for user, assistant in ((True, False), (False, True))
        for role in ("user", "assistant")
    ]
    assert told == ["", "no consent", "no consent", ""]


def test_what_looks_like_a_secret_is_not_kept_and_counted(store: MemoryStore) -> None:
    with MemoryServer(store, redact=redact, consent=BOTH) as server:
        server.user_message("The router in hall B has the password hunter2 since autumn.")
    assert store.count() == 1
    assert server.background.counts["looks like a secret"] == 1


def test_a_long_message_is_kept_up_to_a_visible_mark() -> None:
    seen = see("Gate sensors break often. " * 1_000, "user", consent=BOTH, redact=redact)
    text = seen.options["text"]
    assert isinstance(text, str)
    assert (len(text) <= 4_000, text.endswith("[…]")) == (True, True)


def test_remember_refuses_a_secret_unless_forced(store: MemoryStore) -> None:
    with MemoryServer(store, redact=redact) as server:
        with pytest.raises(MemoryInputError, match="looks like a secret"):
            server.call("remember", {"text": "The password is hunter2."})
        assert store.count() == 1
        assert server.call("remember", {"text": "The password is hunter2.", "force": True})["new"] is True


def test_the_tools_remember_recall_list_and_forget(store: MemoryStore) -> None:
    with MemoryServer(store, redact=redact, project="harbor") as server:
        made = server.call("remember", {"text": "The crane needs oil in June.", "key": "crane"})
        newer = {"text": "The crane needs oil in July.", "key": "crane", "created": NOW + 1}
        again = server.call("remember", newer)
        found = server.call("recall", {"query": "crane oil", "max_items": 1})
        assert contents(found) == ["The crane needs oil in July."]
        assert contents(server.call("list", {"outdated": True}), "id")[0] == again["id"]
        assert server.call("forget", {"key": "crane"}) == {
            "forgotten": [made["id"], again["id"]],
            "verified": True,
        }
        assert server.call("recall", {"query": "crane oil"}) == {
            "memories": [],
            "silent": "nothing is remembered about this",
        }


def test_a_tool_neither_sees_nor_forgets_another_project(store: MemoryStore) -> None:
    (kept,) = store.list()
    with MemoryServer(store, redact=redact, project="gate") as server:
        assert server.call("recall", {"query": ASKED})["memories"] == []
        assert server.call("list", {})["memories"] == []
        assert server.call("forget", {"id": [kept.id]}) == {"forgotten": [], "verified": True}
        server.call("remember", {"text": "Signs are yellow.", "everywhere": True})
    assert sorted((m.text, m.project) for m in store.list()) == [
        ("Signs are yellow.", ""),
        (SAID, "harbor"),
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("dream", {}, "there is no tool 'dream'; there are remember, recall, forget, list"),
        ("recall", {}, "`query` must be a question in words; it is missing"),
        ("recall", {"query": "x", "max_items": 0}, "`max_items` must be a whole number, 1 or more"),
        ("forget", {}, "give `id` or `key`; nothing was forgotten"),
        ("forget", {"containing": "x"}, "unknown key `containing`"),
        ("remember", {"text": "x", "force": "yes"}, "`force` must be true or false"),
        ("list", {"limit": "all"}, "`limit` must be a whole number"),
    ],
)
def test_bad_calls_are_refused_with_the_field_and_the_fix(
    store: MemoryStore, name: str, arguments: dict[str, object], said: str
) -> None:
    with MemoryServer(store, redact=redact) as server, pytest.raises(MemoryInputError) as refused:
        server.call(name, arguments)
    assert said in str(refused.value)


def test_the_schemas_are_schemas_and_take_what_the_tools_take() -> None:
    schemas = {tool.name: tool.schema for tool in TOOLS}
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"text": "x", "replaces": ["a"], "everywhere": True}, schemas["remember"])
    jsonschema.validate({"query": "x", "max_items": 3}, schemas["recall"])
    for name, wrong in (
        ("remember", {}),
        ("recall", {"query": "x", "max_items": 0}),
        ("forget", {"all": 1}),
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schemas[name])


def test_a_full_queue_drops_the_newest_and_counts_it(caplog: pytest.LogCaptureFixture) -> None:
    started, release = Event(), Event()

    def wait() -> None:
        started.set()
        assert release.wait(DEADLINE)

    background = Background(most=1)
    assert background.submit(wait)
    assert started.wait(DEADLINE)
    assert [background.submit(int), background.submit(int)] == [True, False]
    release.set()
    assert background.close(DEADLINE)
    assert background.counts == {"done": 2, "dropped": 1}
    assert "too much waits to be written" in caplog.text


def test_a_write_that_fails_is_counted_and_the_next_one_is_done(caplog: pytest.LogCaptureFixture) -> None:
    background = Background()
    background.submit(lambda: 1 / 0)
    background.submit(int)
    assert background.close(DEADLINE)
    assert background.counts == {"failed": 1, "done": 1}
    assert "was not written to the memory" in caplog.text


def test_what_was_only_seen_cannot_be_told_and_no_field_may_hide_a_secret(store: MemoryStore) -> None:
    with MemoryServer(store, redact=redact, project="harbor") as server:
        with pytest.raises(MemoryInputError, match="'turn' is for messages that were seen"):
            server.call("remember", {"text": "Cranes are yellow.", "kind": "turn"})
        for field in ("source", "key", "conversation", "tags"):
            value = ["a", "hunter2"] if field == "tags" else "by hunter2"
            with pytest.raises(MemoryInputError, match=f"`{field}` holds what looks like a secret"):
                server.call("remember", {"text": "Cranes are yellow.", field: value})
        assert server.call("remember", {"text": "It is hunter2.", "source": "hunter2", "force": True})[
            "new"
        ]
    assert store.count() == 2
