"""The panel's files: how they are sent, that they are complete, and that they can do no harm."""

from __future__ import annotations

import http.client
import re
from pathlib import Path

import msgspec
import pytest

from tests.panel.hubs import DEADLINE, HubProcess
from tidings.hub.panel.site import FOLDER, TYPES, read_files

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
MODULES = [path for path in FILES if path.suffix == ".js"]
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|createContextualFragment"
    r"|DOMParser|setHTML|javascript:|\.cssText|setAttribute\(\s*[\"'](?:style|on)"
)
"""What could turn text into markup or code."""
MOST_LINES = 250
SENT = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""The headers that keep the page to itself, word for word."""


def answer(hub: HubProcess, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=DEADLINE)
    try:
        connection.putrequest("GET", path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        got = connection.getresponse()
        return got.status, {name.lower(): value for name, value in got.getheaders()}, got.read()
    finally:
        connection.close()


def names(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


@pytest.mark.parametrize("path", ["/", *(f"/panel/{names(file)}" for file in FILES)])
def test_every_file_is_sent_to_anybody_with_its_type_and_its_headers(hub: HubProcess, path: str) -> None:
    status, headers, body = answer(hub, path)
    file = FOLDER / ("index.html" if path == "/" else path.removeprefix("/panel/"))
    assert (status, body) == (200, file.read_bytes())
    assert headers["content-type"] == TYPES[file.suffix]
    assert {name: headers.get(name) for name in SENT} == SENT
    assert "set-cookie" not in headers


def test_a_file_that_the_browser_has_is_not_sent_again(hub: HubProcess) -> None:
    _, first, _ = answer(hub, "/panel/main.js")
    status, headers, body = answer(hub, "/panel/main.js", **{"If-None-Match": f'"other", {first["etag"]}'})
    assert (status, body, headers["etag"]) == (304, b"", first["etag"])
    assert {name: headers.get(name) for name in SENT} == SENT


@pytest.mark.parametrize(
    "path",
    ["/panel/", "/panel/nothing.js", "/panel/../site.py", "/panel/%2e%2e/site.py", "/panel//etc/passwd"],
)
def test_nothing_else_is_sent(hub: HubProcess, path: str) -> None:
    status, _, body = answer(hub, path)
    assert status in (401, 404)
    assert b"starlette" not in body


def test_every_file_is_in_the_wheel() -> None:
    project = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())
    patterns = project["tool"]["setuptools"]["package-data"]["tidings"]
    package = ROOT / "src" / "tidings"
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    assert [names(file) for file in FILES if file not in packed] == []
    assert sorted(read_files()) == [names(file) for file in FILES]


@pytest.mark.parametrize("module", MODULES, ids=names)
def test_a_module_says_what_it_is_stays_small_and_inserts_text_as_text(module: Path) -> None:
    text = module.read_text()
    assert text.startswith("/* ")
    assert text.count("\n") <= MOST_LINES
    assert max(map(len, text.splitlines())) <= 108
    assert SINKS.findall(text) == []


@pytest.mark.parametrize("module", MODULES, ids=names)
def test_every_import_leads_to_a_module_that_exports_it(module: Path) -> None:
    text = module.read_text()
    for imported, source in re.findall(r"import \{([^}]*)\} from \"([^\"]+)\"", text):
        target = (module.parent / source).resolve()
        assert target in MODULES
        exports = set(
            re.findall(r"export (?:async )?(?:function|class|const|let) (\w+)", target.read_text())
        )
        wanted = {one.strip() for one in imported.split(",") if one.strip()}
        assert wanted <= exports
        body = text.split("from", 1)[1]
        assert [one for one in wanted if len(re.findall(rf"\b{one}\b", body + text)) < 2] == []


def test_every_module_is_used_and_nothing_points_outside() -> None:
    used = {FOLDER / "main.js"}
    for module in MODULES:
        sources = re.findall(r"from \"([^\"]+)\"", module.read_text())
        used |= {(module.parent / source).resolve() for source in sources}
    assert [names(module) for module in MODULES if module not in used] == []
    page = (FOLDER / "index.html").read_text()
    assert sorted(re.findall(r"/panel/(css/[\w.]+)", page)) == [
        names(file) for file in FILES if file.suffix == ".css"
    ]
    for file in FILES:
        found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", file.read_text())
        assert [url for url in found if "www.w3.org" not in url] == []


def test_the_page_holds_no_script_and_no_style_of_its_own() -> None:
    page = (FOLDER / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", page) == []
