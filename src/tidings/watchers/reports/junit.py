"""JUnit XML, as pytest writes it and as other runners can, becomes a report. Pure."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from tidings.agent.providers.quoting import one_line
from tidings.watchers.reports.report import MESSAGE, Case, Report, bounded, case

_COLLECTION = "collection failure"


def read_junit(text: str) -> Report | None:
    """The report; None when this is no JUnit XML."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None
    if root.tag not in ("testsuites", "testsuite"):
        return None
    broken: dict[str, str] = {}
    cases: list[Case] = []
    for element in root.iter("testcase"):
        error = element.find("error")
        if error is not None and (error.get("message") or "").startswith(_COLLECTION):
            broken[_file(element)] = _last_error(error)
        else:
            cases.append(_case(element))
    kept, complete = bounded(cases)
    return Report(tool="junit", cases=kept, broken=broken, complete=complete)


def _case(element: Element) -> Case:
    for tag in ("failure", "error"):
        found = element.find(tag)
        if found is not None:
            return case(_file(element), _name(element), "failed", _message(found))
    skipped = element.find("skipped") is not None
    return case(_file(element), _name(element), "skipped" if skipped else "passed")


def _file(element: Element) -> str:
    """The file; from the module's name where the report does not say."""
    given = element.get("file")
    if given:
        return given
    module = element.get("classname") or element.get("name") or "tests"
    parts = [part for part in module.split(".") if not part[:1].isupper()]
    return "/".join(parts) + ".py" if parts else module


def _name(element: Element) -> str:
    classes = [part for part in (element.get("classname") or "").split(".") if part[:1].isupper()]
    return "::".join((*classes, element.get("name") or "?"))


def _message(found: Element) -> str:
    return (found.get("message") or found.text or "").strip().split("\n")[0]


def _last_error(error: Element) -> str:
    lines = [line for line in (error.text or "").splitlines() if line.startswith("E ")]
    return one_line((lines or [error.get("message") or ""])[-1].removeprefix("E"), MESSAGE)
