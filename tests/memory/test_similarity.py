"""An embedder that is late, fails or is missing costs similarity, never the answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pytest

from tests.memory.opening import DEADLINE, NOW
from tidings.memory import embedding, kinship
from tidings.memory.answer import Budget
from tidings.memory.embedding import WordLlama, available
from tidings.memory.store import MemoryStore

MISSING = "the memory extra is not installed: pip install 'tidings[memory]'"
numpy = pytest.importorskip("numpy", reason=MISSING)

SAID = "We deploy to production on Tuesdays only."
ASKED = "When may we deploy to production?"


class Gated:
    """An embedder that waits for its gate, and knows two dimensions: about deploying, or not."""

    name = "gated"

    def __init__(self, fails: bool = False) -> None:
        self.gate = Event()
        self.gate.set()
        self.fails = fails
        self.asked: list[str] = []
        self.begun = Semaphore(0)

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        self.begun.release()
        assert self.gate.wait(DEADLINE)
        if self.fails:
            raise RuntimeError("no such model")
        return numpy.array([[1, 0] if "deploy" in text else [0, 1] for text in texts], dtype=numpy.float32)


def test_a_late_embedder_is_not_waited_for_and_words_answer(tmp_path: Path) -> None:
    slow = Gated()
    with MemoryStore(tmp_path / "m.db", embedder=slow, clock=lambda: NOW) as store:
        store.remember(text=SAID)
        slow.gate.clear()
        late = store.answer(ASKED, budget=Budget(deadline_ms=1))
        assert all(slow.begun.acquire(timeout=DEADLINE) for _ in (SAID, ASKED))
        busy = store.answer(f"{ASKED} Please.", budget=Budget(deadline_ms=int(DEADLINE * 1000)))
        slow.gate.set()
    assert [(one.late, one.similarity, [item.content for item in one.items]) for one in (late, busy)] == [
        (True, False, [SAID])
    ] * 2
    assert slow.asked == [SAID, ASKED]


def test_an_embedder_that_fails_is_told_of_once_and_words_answer(tmp_path: Path) -> None:
    broken = Gated()
    with MemoryStore(tmp_path / "m.db", embedder=broken, clock=lambda: NOW) as store:
        store.remember(text=SAID)
        broken.fails = True
        with pytest.warns(
            RuntimeWarning, match="found by words alone: RuntimeError: no such model"
        ) as told:
            answers = [store.answer(f"{ASKED} {word}") for word in ("one", "two")]
    assert [[item.content for item in answer.items] for answer in answers] == [[SAID], [SAID]]
    assert len(told) == 1


def test_a_question_is_embedded_once(tmp_path: Path) -> None:
    embedder = Gated()
    with MemoryStore(tmp_path / "m.db", embedder=embedder, clock=lambda: NOW) as store:
        store.remember(text=SAID)
        assert [store.answer(ASKED).similarity for _ in range(3)] == [True, True, True]
    assert embedder.asked == [SAID, ASKED]


def test_memories_without_a_vector_get_one_when_the_store_warms_up(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", embedder=None) as store:
        store.remember(text=SAID)
        assert store.warm_up() == 0
    with MemoryStore(tmp_path / "m.db", embedder=Gated(), clock=lambda: NOW) as store:
        assert [store.warm_up(), store.warm_up()] == [1, 0]
        assert "similarity 1.00" in store.answer("deploy production?").items[0].why


def test_vectors_of_another_model_are_never_compared(tmp_path: Path) -> None:
    other = Gated()
    other.name = "other"
    with MemoryStore(tmp_path / "m.db", embedder=other) as store:
        store.remember(text=SAID)
    with MemoryStore(tmp_path / "m.db", embedder=Gated(), clock=lambda: NOW) as store:
        (item,) = store.answer(ASKED).items
        assert "similarity" not in item.why


def test_a_memory_remembered_elsewhere_is_near_at_once_and_gone_when_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path, embedder=Gated()) as here, MemoryStore(path, embedder=Gated()) as there:
        assert here.answer(ASKED).items == ()
        there.remember(text=SAID)
        assert "similarity 1.00" in here.answer(ASKED).items[0].why
        there.forget(containing="Tuesdays")
        assert here.answer(ASKED).items == ()


def test_the_extra_needs_no_network_and_gives_unit_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    if not available():
        pytest.skip(MISSING)
    monkeypatch.setattr("socket.socket.connect", None)
    vectors = WordLlama().embed(["How do we deploy?", "Deploying is done on Tuesday.", "Cats sleep.", ""])
    assert vectors.shape == (4, 256)
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), [1, 1, 1, 0], atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.3 > vectors[0] @ vectors[2]


def test_the_extra_is_read_without_being_imported() -> None:
    if not available():
        pytest.skip(MISSING)
    script = (
        "import sys; from tidings.memory.embedding import WordLlama; WordLlama().embed(['a']); "
        "sys.exit(not {'requests', 'wordllama'}.isdisjoint(sys.modules))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, timeout=DEADLINE, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_missing_extra_means_words_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_HOME", "no_such_package")
    assert not available()
    with pytest.raises(ImportError, match=r"pip install 'tidings\[memory\]'"):
        WordLlama()
    with MemoryStore(tmp_path / "m.db") as store:
        store.remember(text=SAID)
        answer = store.answer(ASKED)
    assert ([item.content for item in answer.items], answer.similarity, answer.late) == (
        [SAID],
        False,
        False,
    )


class Words:
    """An embedder that knows three words, two of them near to each other, and counts what it is asked."""

    name = "words"
    known = {"ship": (1.0, 0.0), "deploy": (0.8, 0.6), "crane": (0.0, 1.0)}  # noqa: RUF012 a table of a test

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        return numpy.array([[1, 0] for _ in texts], dtype=numpy.float32)

    def embed_words(self, words: Sequence[str]) -> Any:
        self.asked += words
        return numpy.array([self.known.get(word, (0.0, 0.0)) for word in words], dtype=numpy.float32)


def test_words_that_are_kin_count_though_none_is_the_same(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", embedder=Words(), clock=lambda: NOW) as store:
        store.remember(text="Deploy crane zebra yak.")
        (found,) = store.evidence("ship")
    assert found.matched == ()
    assert found.kin == pytest.approx((0.8 + 0 + 0) / 3)


def test_vectors_of_words_are_kept_within_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinship, "MOST_KEPT", 4)
    embedder = Words()
    with MemoryStore(tmp_path / "m.db", embedder=embedder, clock=lambda: NOW) as store:
        store.remember(text="Deploy the crane.")
        for _ in range(2):
            store.evidence("ship")
        assert sorted(embedder.asked) == ["crane", "deploy", "ship"]
        store.evidence("zebra yak")
        assert len(embedder.asked) == 3 + 4


def test_an_embedder_that_knows_no_words_counts_those_in_common(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", embedder=Gated(), clock=lambda: NOW) as store:
        store.remember(text=SAID)
        (found,) = store.evidence("Which production Tuesdays?")
    assert found.kin == pytest.approx(2 / 3)
