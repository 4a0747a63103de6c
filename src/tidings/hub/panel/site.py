"""The panel's files as routes: the page at `/`, everything it loads under `/panel/`.

The files are read once, when the hub starts; no path that a request names is ever opened. None holds a
secret, so that they are open to anybody on this machine, and every answer forbids what the page does not
need. `http.py` mounts what `routes` gives.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

FOLDER = Path(__file__).parent / "static"
PAGE = "index.html"

HEADERS: dict[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""What every file is sent with. A browser asks each time whether it changed."""

TYPES: dict[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The type of each file by its ending; other files are not served."""


class File(msgspec.Struct, frozen=True):
    """A file as it is sent."""

    body: bytes
    type: str
    etag: str


def read_files(folder: Path = FOLDER) -> dict[str, File]:
    """The files of a folder by their path in it."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in TYPES]
    return {path.relative_to(folder).as_posix(): _read(path) for path in found}


def _read(path: Path) -> File:
    body = path.read_bytes()
    return File(body, TYPES[path.suffix], f'"{sha256(body).hexdigest()[:32]}"')


def routes() -> list[BaseRoute]:
    """The page and its files."""
    files = read_files()

    async def page(request: Request) -> Response:
        return _sent(request, files[PAGE])

    async def part(request: Request) -> Response:
        file = files.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        return _sent(request, file)

    return [Route("/", page, methods=["GET"]), Route("/panel/{name:path}", part, methods=["GET"])]


def _sent(request: Request, file: File) -> Response:
    headers = {**HEADERS, "etag": file.etag}
    known = {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
    if file.etag in known:
        return Response(status_code=304, headers=headers)
    return Response(file.body, headers=headers, media_type=file.type)
