from __future__ import annotations

import json

import pytest

from tidings.diagnostics.catalogue import CATALOGUE
from tidings.diagnostics.lint import FORMATS, Finding
from tidings.version import __version__

ERROR = Finding("src/a b.py", 3, 5, "HARN-RMD-001", "unknown key `x`", 3, 9)
WARNING = Finding("/abs/ü,c:d.py", 4, 1, "TDG-001", "100% hidden:\n::error::", 6, 2)


def test_text_is_one_line_each() -> None:
    assert FORMATS["text"]([ERROR, WARNING]) == (
        "src/a b.py:3:5 HARN-RMD-001 unknown key `x`\n/abs/ü,c:d.py:4:1 TDG-001 100% hidden:\\n::error::\n"
    )


def test_json_is_one_array_of_everything() -> None:
    assert json.loads(FORMATS["json"]([ERROR])) == [
        {
            "path": "src/a b.py",
            "line": 3,
            "column": 5,
            "code": "HARN-RMD-001",
            "message": "unknown key `x`",
            "end_line": 3,
            "end_column": 9,
            "severity": "error",
        }
    ]


def test_github_commands_escape_what_would_end_them() -> None:
    assert FORMATS["github"]([ERROR, WARNING]) == (
        "::error file=src/a b.py,line=3,endLine=3,col=5,title=HARN-RMD-001"
        "::HARN-RMD-001 unknown key `x`\n"
        "::warning file=/abs/ü%2Cc%3Ad.py,line=4,endLine=6,col=1,title=TDG-001"
        "::TDG-001 100%25 hidden:%0A::error::\n"
    )


def test_sarif_has_the_rules_of_the_catalogue_and_the_results() -> None:
    log = json.loads(FORMATS["sarif"]([ERROR, WARNING]))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("tidings lint", __version__)
    linted = [known.code for known in CATALOGUE if "lint" in known.reported_by]
    assert [rule["id"] for rule in driver["rules"]] == linted
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["results"] == [
        {
            "ruleId": "HARN-RMD-001",
            "ruleIndex": 0,
            "level": "error",
            "message": {"text": "unknown key `x`"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "src/a%20b.py"},
                        "region": {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9},
                    }
                }
            ],
        },
        {
            "ruleId": "TDG-001",
            "ruleIndex": 9,
            "level": "warning",
            "message": {"text": "100% hidden:\n::error::"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "file:///abs/%C3%BC%2Cc%3Ad.py"},
                        "region": {"startLine": 4, "startColumn": 1, "endLine": 6, "endColumn": 2},
                    }
                }
            ],
        },
    ]


def test_every_sarif_rule_has_its_texts_and_level() -> None:
    (run,) = json.loads(FORMATS["sarif"]([]))["runs"]
    for rule in run["tool"]["driver"]["rules"]:
        assert rule.keys() == {"id", "shortDescription", "fullDescription", "help", "defaultConfiguration"}
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning")
    assert run["results"] == []


@pytest.mark.parametrize(("form", "empty"), [("text", ""), ("github", ""), ("json", "[]\n")])
def test_no_findings_give_an_empty_report(form: str, empty: str) -> None:
    assert FORMATS[form]([]) == empty
