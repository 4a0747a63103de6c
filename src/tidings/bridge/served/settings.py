"""A command line becomes the settings of a connection: a model that can be asked, a log, a system text.

What is missing is said before the first line is read: a host that started us shows the end of our stderr,
and nobody reads an error in the middle of a protocol. Called by `tidings acp` and `tidings bridge`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tidings.agent.models.choose import model as choose_model
from tidings.agent.port import Model
from tidings.bridge.log_option import open_named
from tidings.bridge.served.run import SYSTEM, Settings
from tidings.errors import CallerError, LogUnavailableError
from tidings.log.open import open_log
from tidings.log.port import EventLog

MODEL_VARIABLE = "TIDINGS_MODEL"

NEEDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "anthropic": ("anthropic", "anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")),
    "openai": ("openai", "openai", ("OPENAI_API_KEY",)),
    "openai-responses": ("openai", "openai", ("OPENAI_API_KEY",)),
    "openai-compatible": ("openai", "openai", ()),
    "gemini": ("google.genai", "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
"""What a vendor needs: its SDK's module, our extra, and the variables of which one must hold a key."""


@contextmanager
def open_settings(
    *, model: str | None, log: str | None, system: Path | None, base_url: str | None = None
) -> Iterator[Settings]:
    """The settings that these options mean; the log is open for the block.

    Raises:
        CallerError: no model, an unknown one, no SDK or key for it, or a system file that cannot be read.
        LogError: the log cannot be opened.
    """
    chosen = ready_model(model, base_url, os.environ)
    text = SYSTEM if system is None else _text_of(system)
    with _open_default() if log is None else open_named(log) as opened:
        yield Settings(model=chosen, log=opened, system=text)


def ready_model(name: str | None, base_url: str | None, environment: Mapping[str, str]) -> Model:
    """The model that is asked for, when all it needs is there.

    Raises:
        CallerError: it is not; says what to do.
    """
    wanted = name or environment.get(MODEL_VARIABLE, "").strip()
    if not wanted:
        raise CallerError(f"no model: give --model anthropic/claude-opus-5, or set {MODEL_VARIABLE}")
    if wanted.startswith("openai-compatible/") and not base_url:
        raise CallerError(f"{wanted} needs --base-url, the server's address, such as http://host:8000/v1")
    options = {"base_url": base_url} if base_url else {}
    chosen = choose_model(wanted, **options)
    module, extra, keys = NEEDS.get(wanted.partition("/")[0], ("", "", ()))
    if module and not _installed(module):
        raise CallerError(f"{wanted} needs the SDK of its vendor: pip install 'tidings[{extra}]'")
    if keys and not any(environment.get(key) for key in keys):
        raise CallerError(f"{wanted} needs a key: set {' or '.join(keys)}")
    return chosen


def data_folder(environment: Mapping[str, str]) -> Path:
    """Where the user's own data is kept."""
    named = environment.get("XDG_DATA_HOME", "")
    home = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "share"
    return home / "tidings"


def _open_default() -> EventLog:
    folder = data_folder(os.environ)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        text = f"the folder {folder} for the log cannot be made: {error.strerror}; give --log"
        raise LogUnavailableError(text) from error
    return open_log(folder / "sessions.db")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _text_of(path: Path) -> str:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CallerError(f"--system {path} cannot be read: {error}") from error
    if not text.strip():
        raise CallerError(f"--system {path} is empty; write the system text into it, or leave --system out")
    return text
