"""From text to a vector that says what it is about: a port, and the one that the `memory` extra brings.

WordLlama's weights come inside its wheel, so nothing is downloaded, ever. They are read directly: a token's
vector is a row of one matrix, and a text's is their mean. The only module that loads tokenizers and the
weights; without the extra a memory is found by its words alone.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

LONGEST = 2_000
"""Characters of a text that are embedded."""

_HOME = "wordllama"
_WEIGHTS = Path("weights") / "l2_supercat_256.safetensors"
_TOKENIZER = Path("tokenizers") / "l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"


class Embedder(Protocol):
    """Turns texts into unit vectors of one length; may be slow, and may be called from any thread."""

    @property
    def name(self) -> str:
        """Names the model: vectors of different models are never compared."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """A float32 array with one unit vector per text; a row of zeros where there is nothing to go by."""
        ...


@runtime_checkable
class WordEmbedder(Embedder, Protocol):
    """An embedder that knows single words at next to no cost: they are compared one by one as well."""

    def embed_words(self, words: Sequence[str]) -> Any:
        """The same for single words."""
        ...


def available() -> bool:
    """Whether the `memory` extra is installed, with its weights; answers without loading it."""
    home = _home()
    return home is not None and (home / _WEIGHTS).exists() and (home / _TOKENIZER).exists()


class WordLlama:
    """The small static embedding of the `memory` extra: 256 dimensions, well below a millisecond per text.

    Raises:
        ImportError: the extra is not installed, or without its weights.
    """

    name = "wordllama-l2-supercat-256"

    def __init__(self) -> None:
        home = _home()
        if home is None or not available():
            raise ImportError("similarity needs the memory extra: pip install 'tidings[memory]'")
        self._numpy = import_module("numpy")
        self._matrix = _matrix(self._numpy, (home / _WEIGHTS).read_bytes())
        self._tokenizer = import_module("tokenizers").Tokenizer.from_file(str(home / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def embed(self, texts: Sequence[str]) -> Any:
        """The mean of each text's token vectors, at unit length."""
        rows = self._numpy.zeros((len(texts), self._matrix.shape[1]), dtype=self._numpy.float32)
        for number, text in enumerate(texts):
            tokens = self._tokenizer.encode(text[:LONGEST], add_special_tokens=False).ids
            if tokens:
                rows[number] = self._matrix[tokens].astype(self._numpy.float32).mean(axis=0)
        lengths = self._numpy.linalg.norm(rows, axis=1, keepdims=True)
        return self._numpy.divide(rows, lengths, out=self._numpy.zeros_like(rows), where=lengths > 0)

    def embed_words(self, words: Sequence[str]) -> Any:
        """The same for single words."""
        return self.embed(words)


def _home() -> Path | None:
    found = find_spec(_HOME)
    places = None if found is None else found.submodule_search_locations
    return Path(next(iter(places))) if places else None


def _matrix(numpy: Any, data: bytes) -> Any:
    """The tensor of a safetensors file: a length, a JSON header, the raw numbers."""
    (length,) = struct.unpack_from("<Q", data)
    header = msgspec.json.decode(data[8 : 8 + length])[_TENSOR]
    start, end = header["data_offsets"]
    raw = data[8 + length + start : 8 + length + end]
    return numpy.frombuffer(raw, dtype="<f2").reshape(header["shape"])
