"""The content that the conformance suite expects of a server: pieces, resources and prompts. Data.

Names, texts and URIs are the suite's own: it looks for exactly these.
"""

from __future__ import annotations

import base64
import struct
import zlib

import mcp_types as types


def _chunk(kind: bytes, data: bytes) -> bytes:
    checked = kind + data
    return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))


def _red_pixel() -> bytes:
    """A PNG of one red pixel."""
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _silence() -> bytes:
    """A WAV file with two silent samples."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    data = struct.pack("<4sI", b"data", 2) + b"\x80\x80"
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + len(data), b"WAVE") + form + data


PNG = base64.b64encode(_red_pixel()).decode()
WAV = base64.b64encode(_silence()).decode()
WATCHED = "test://watched-resource"


def text(words: str) -> types.TextContent:
    """A text block."""
    return types.TextContent(text=words)


def image() -> types.ImageContent:
    """The red pixel."""
    return types.ImageContent(data=PNG, mime_type="image/png")


def audio() -> types.AudioContent:
    """The silence."""
    return types.AudioContent(data=WAV, mime_type="audio/wav")


def embedded(uri: str, kind: str, words: str) -> types.EmbeddedResource:
    """A resource inside other content."""
    inside = types.TextResourceContents(uri=uri, mime_type=kind, text=words)
    return types.EmbeddedResource(resource=inside)


RESOURCES: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text",
        mime_type="text/plain",
        text="This is the content of the static text resource.",
    ),
    "test://static-binary": types.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=PNG
    ),
    WATCHED: types.TextResourceContents(uri=WATCHED, mime_type="text/plain", text="It is watched."),
}

TEMPLATE = "test://template/{id}/data"

PROMPTS: dict[str, tuple[tuple[str, ...], str]] = {
    "test_simple_prompt": ((), "A prompt without arguments."),
    "test_prompt_with_arguments": (("arg1", "arg2"), "A prompt with two arguments."),
    "test_prompt_with_embedded_resource": (("resourceUri",), "A prompt that holds a resource."),
    "test_prompt_with_image": ((), "A prompt that holds an image."),
    "test_input_required_result_prompt": ((), "A prompt that asks the user first."),
}
"""The prompts: their arguments, and what they are."""


def prompt(name: str, arguments: dict[str, str]) -> list[types.ContentBlock]:
    """The content of a prompt that asks nothing, one message each."""
    match name:
        case "test_simple_prompt":
            return [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            one, two = arguments.get("arg1", ""), arguments.get("arg2", "")
            return [text(f"Prompt with arguments: arg1='{one}', arg2='{two}'")]
        case "test_prompt_with_embedded_resource":
            uri = arguments.get("resourceUri", "")
            words = "Embedded resource content for testing."
            return [
                embedded(uri, "text/plain", words),
                text("Please process the embedded resource above."),
            ]
        case "test_prompt_with_image":
            return [image(), text("Please analyze the image above.")]
        case _:
            return []
