"""Gemini generateContent as the fake speaks it: what its servers refuse, and how its stream looks."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tidings.core.reminder import Payload
from tidings.testing.fake_steps import Frame, Refuse, Say, sse, words

_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}


class FakeGemini:
    """The generateContent API. It remembers the signatures it gave, to see whether they come back."""

    key_headers: tuple[str, ...] = ("x-goog-api-key",)

    def __init__(self) -> None:
        self._signed: dict[bytes, bytes] = {}

    def streams(self, path: str, body: Payload) -> bool:  # noqa: ARG002
        """Whether the answer is to be streamed."""
        return "streamGenerateContent" in path

    def problem(self, body: Payload) -> str | None:
        """Why the vendor would refuse `body`."""
        contents = body.get("contents")
        if not isinstance(contents, list) or not contents:
            return "contents is not specified"
        return next(self._problems(contents), None)

    def _problems(self, contents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        calls: list[tuple[object, object]] = []
        for at, content in enumerate(contents):
            where = f"contents[{at}]"
            parts = content.get("parts") or []
            if content.get("role") not in ("user", "model"):
                yield f"{where}.role: use user or model, not {content.get('role')!r}"
            if not parts:
                yield f"{where}: parts may not be empty"
            responses = _named(parts, "functionResponse")
            if responses != calls:
                yield f"{where}: function responses {responses} do not match the calls {calls}"
            calls = _named(parts, "functionCall")
            if calls and content["role"] != "model":
                yield f"{where}: only the model calls functions"
            yield from self._signatures(where, parts)
        if calls:
            yield "the last content calls functions without a response"

    def _signatures(self, where: str, parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        for part in parts:
            expected = self._signed.get(_key(part))
            if expected is not None and expected != _decoded(part.get("thoughtSignature")):
                yield f"{where}: a part has lost its thoughtSignature, or it was changed"

    def _parts(self, say: Say, number: int) -> list[dict[str, Any]]:
        """The parts as they stream; with thinking, the first call or the last text is signed."""
        parts: list[dict[str, Any]] = []
        if say.thinking:
            parts.append({"text": say.thinking, "thought": True})
        parts += [{"text": word} for word in words(say.text)]
        for call in say.calls:
            function: Payload = {"id": call.id} if call.id else {}
            parts.append({"functionCall": {**function, "name": call.name, "args": call.arguments}})
        if say.thinking and len(parts) > 1:
            signed = parts[-max(1, len(say.calls))]
            signature = b"\xfb\xff signed %d" % number
            self._signed[_key(signed)] = signature
            signed["thoughtSignature"] = b64encode(signature).decode()
        return parts

    def whole(self, say: Say, body: Payload, number: int) -> Payload:  # noqa: ARG002
        """The answer in one piece."""
        content = {"role": "model", "parts": self._parts(say, number)}
        candidate = {"content": content, "finishReason": say.stop or "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": _usage(say), "responseId": f"r{number}"}

    def frames(self, say: Say, body: Payload, number: int) -> list[Frame]:  # noqa: ARG002
        """The answer as a stream, a chunk for each part."""
        frames = []
        parts = self._parts(say, number)
        for at, part in enumerate(parts or [{"text": ""}]):
            candidate: Payload = {"content": {"role": "model", "parts": [part]}, "index": 0}
            if at >= len(parts) - 1:
                candidate["finishReason"] = say.stop or "STOP"
            chunk: Payload = {"candidates": [candidate], "usageMetadata": _usage(say)}
            frames.append(sse(chunk, text="text" in part and not part.get("thought")))
        return frames

    def error(self, refuse: Refuse) -> Payload:
        """The body of an HTTP error."""
        status = refuse.kind or _STATUS.get(refuse.status, "UNAVAILABLE")
        return {"error": {"code": refuse.status, "message": refuse.message, "status": status}}

    def error_frame(self, refuse: Refuse) -> Frame:
        """An error inside a stream."""
        return sse(self.error(refuse))


def _named(parts: Sequence[Mapping[str, Any]], kind: str) -> list[tuple[object, object]]:
    return [(part[kind].get("id"), part[kind]["name"]) for part in parts if kind in part]


def _key(part: Mapping[str, Any]) -> bytes:
    kept = {name: part[name] for name in ("text", "functionCall") if name in part}
    return msgspec.json.encode(kept, order="sorted")


def _decoded(signature: object) -> bytes | None:
    if not isinstance(signature, str):
        return None
    return urlsafe_b64decode(signature.replace("+", "-").replace("/", "_"))


def _usage(say: Say) -> Payload:
    return {
        "promptTokenCount": say.usage.input_tokens,
        "candidatesTokenCount": say.usage.output_tokens,
        "cachedContentTokenCount": say.usage.cached_tokens,
        "totalTokenCount": say.usage.input_tokens + say.usage.output_tokens,
    }
