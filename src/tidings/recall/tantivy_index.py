"""The derived index: one tantivy directory per namespace, words in, record numbers out.

It knows words and record numbers only. Which of them are live, what passes the filters and what
each scores is read from the store, so the directory may be stale, or be deleted at any time. The
only module that imports tantivy (the `tidings[recall]` extra); `accelerator.py` calls it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_HEAP = 50_000_000
_WORDS = "words"
_SEQ = "seq"
_ANALYZER = "tidings_words"
_CHECK_EVERY = 1_000


class IndexBusyError(Exception):
    """Another process is writing this index."""


def available() -> bool:
    """Whether tantivy is installed; answers without loading it."""
    return find_spec("tantivy") is not None


class TantivyIndex:
    """The index in `directory`, created when it does not exist, made anew when it is damaged."""

    def __init__(self, directory: Path) -> None:
        self._tantivy = import_module("tantivy")
        try:
            self._index = self._open(directory)
        except (ValueError, OSError):
            shutil.rmtree(directory, ignore_errors=True)
            self._index = self._open(directory)
        self._schema = self._index.schema
        self.refresh()

    def _open(self, directory: Path) -> Any:
        tantivy = self._tantivy
        directory.mkdir(parents=True, exist_ok=True)
        builder = tantivy.SchemaBuilder()
        builder.add_text_field(_WORDS, tokenizer_name=_ANALYZER, index_option="freq")
        builder.add_integer_field(_SEQ, fast=True)
        index = tantivy.Index(builder.build(), path=str(directory))
        plain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        index.register_tokenizer(_ANALYZER, plain)
        return index

    def refresh(self) -> None:
        """See what was committed since, by any process."""
        self._index.reload()
        self._searcher = self._index.searcher()
        newest = self._searcher.search(
            self._tantivy.Query.all_query(), limit=1, count=False, order_by_field=_SEQ
        )
        self.watermark = int(newest.hits[0][0]) if newest.hits else 0

    @property
    def documents(self) -> int:
        """How many records the index holds, the dead ones included."""
        return int(self._searcher.num_docs)

    def search(self, words: Iterable[str], limit: int) -> list[tuple[float, int]]:
        """The best `limit` records for the words: tantivy's score and the record's number."""
        query, should = self._tantivy.Query, self._tantivy.Occur.Should
        any_of = [(should, query.term_query(self._schema, _WORDS, word, "freq")) for word in words]
        hits = self._searcher.search(query.boolean_query(any_of), limit=limit, count=False).hits
        seqs = self._searcher.fast_field_values(_SEQ, [address for _, address in hits])
        return [(score, int(seq)) for (score, _), seq in zip(hits, seqs, strict=True) if seq is not None]

    def add(
        self, rows: Iterable[tuple[int, str]], *, anew: bool, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Add records in one commit, replacing everything if `anew`; nothing when `stopped`.

        Raises:
            IndexBusyError: another process is writing.
        """
        with self._writer() as writer:
            if anew:
                writer.delete_all_documents()
            for number, (seq, words) in enumerate(rows):
                if number % _CHECK_EVERY == 0 and stopped():
                    writer.rollback()
                    return
                writer.add_document(self._tantivy.Document(**{_WORDS: words, _SEQ: seq}))
            writer.commit()
            writer.wait_merging_threads()

    def _writer(self) -> Any:
        try:
            return self._index.writer(_HEAP, 1)
        except ValueError as error:
            if "Lock" not in str(error):
                raise
            raise IndexBusyError(str(error)) from error
