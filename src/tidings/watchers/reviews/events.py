"""What GitHub and GitLab tell in a webhook becomes what the agent is told. Pure.

Reviews, comments on a pull request, its end, and CI results. Everything in a payload is foreign text: it is
redacted, put on one line and cut. CI that passes is told only after it failed: `Ci` remembers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from tidings.agent.providers.quoting import one_line
from tidings.core.redaction import beginning, redact
from tidings.watchers.reviews.pointer import at
from tidings.watchers.reviews.replay import seconds
from tidings.watchers.told import Told

TTL = 3
TAGS = ("review",)
CI_TAGS = ("ci",)
QUOTED = 500
"""Characters of a comment that are shown."""

_VERDICTS = {
    "approved": "approved",
    "changes_requested": "requested changes on",
    "commented": "commented on",
    "dismissed": "dismissed a review of",
}
_FAILED = frozenset(("failure", "failed", "error", "timed_out", "startup_failure", "action_required"))
_PASSED = frozenset(("success", "passed"))
_MR_ACTIONS = {
    "approved": "approved",
    "approval": "approved",
    "unapproved": "took back the approval of",
    "merge": "merged",
    "close": "closed",
}
_TIMES = (
    "review/submitted_at", "comment/updated_at", "check_run/completed_at", "check_suite/updated_at",
    "workflow_run/updated_at", "pull_request/updated_at", "updated_at", "object_attributes/updated_at",
    "object_attributes/finished_at",
)  # fmt: skip
"""Where a payload names a time: of its event, or of something before it."""


class Ci(msgspec.Struct, frozen=True):
    """One CI result."""

    repository: str
    branch: str
    name: str
    result: str
    url: str


def event_time(payload: Mapping[str, object]) -> float | None:
    """When it happened: the latest time that the payload itself names.

    A review that is dismissed was submitted long before.
    """
    times = (seconds(at(payload, tuple(place.split("/")))) for place in _TIMES)
    return max((time for time in times if time is not None), default=None)


def repository_of(payload: Mapping[str, object]) -> str:
    """The repository that it is about."""
    full = at(payload, ("repository", "full_name")) or at(payload, ("project", "path_with_namespace"))
    return said(full, 200)


def said(value: object, limit: int) -> str:
    """Foreign text, harmless, without secrets, on one line; numbers too, "" for anything else."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return one_line(redact(beginning(str(value), max(40 * limit, 8_000))), limit)
    return ""


def from_github(event: str, payload: Mapping[str, object]) -> Told | Ci | None:
    """What a GitHub event says, if it is one to tell."""
    action = at(payload, ("action",))
    match event:
        case "pull_request_review" if action in ("submitted", "dismissed"):
            state = "dismissed" if action == "dismissed" else at(payload, ("review", "state"))
            return _github_review(payload, str(state).lower())
        case "pull_request_review_comment" if action == "created":
            return _github_comment(payload)
        case "issue_comment" if action == "created" and at(payload, ("issue", "pull_request")):
            return _github_remark(payload)
        case "pull_request" if action == "closed":
            return _github_closed(payload)
        case "check_run" | "check_suite" | "workflow_run" if action == "completed":
            return _github_run(event, payload)
        case "status":
            return _github_status(payload)
    return None


def _pull(payload: Mapping[str, object], key: str = "pull_request") -> tuple[str, str]:
    """The pull request's words and its key."""
    number, title = said(at(payload, (key, "number")), 20), said(at(payload, (key, "title")), 120)
    repository = repository_of(payload)
    return f'pull request #{number} "{title}"{_inside(repository)}', f"{repository}#{number}"


def _inside(repository: str) -> str:
    return f" in {repository}" if repository else ""


def _quoted(value: object) -> str:
    text = said(value, QUOTED)
    return f': "{text}"' if text else "."


def _github_review(payload: Mapping[str, object], state: str) -> Told | None:
    if state not in _VERDICTS:
        return None
    words, key = _pull(payload)
    who = said(at(payload, ("review", "user", "login")), 60)
    body = f"{who} {_VERDICTS[state]} {words}{_quoted(at(payload, ('review', 'body')))}"
    return Told(body, f"review:{key}:{who}", TAGS, TTL)


def _github_comment(payload: Mapping[str, object]) -> Told:
    words, key = _pull(payload)
    who = said(at(payload, ("comment", "user", "login")), 60)
    place = said(at(payload, ("comment", "path")), 200)
    line = said(at(payload, ("comment", "line")), 20)
    where = f"{place}:{line}" if line else place
    body = f"{who} commented on {where} of {words}{_quoted(at(payload, ('comment', 'body')))}"
    return Told(body, f"review:{key}:comment:{said(at(payload, ('comment', 'id')), 30)}", TAGS, TTL)


def _github_remark(payload: Mapping[str, object]) -> Told:
    words, key = _pull(payload, "issue")
    who = said(at(payload, ("comment", "user", "login")), 60)
    body = f"{who} commented on {words}{_quoted(at(payload, ('comment', 'body')))}"
    return Told(body, f"review:{key}:comment:{said(at(payload, ('comment', 'id')), 30)}", TAGS, TTL)


def _github_closed(payload: Mapping[str, object]) -> Told:
    words, key = _pull(payload)
    how = "merged" if at(payload, ("pull_request", "merged")) is True else "closed without merging"
    return Told(f"{words[0].upper()}{words[1:]} was {how}.", f"review:{key}:state", TAGS, TTL)


def _github_run(event: str, payload: Mapping[str, object]) -> Ci:
    run = at(payload, (event,))
    branch = at(run, ("head_branch",)) or at(run, ("check_suite", "head_branch"))
    name = at(run, ("name",)) or at(run, ("app", "name"))
    return _ci(payload, branch, name, at(run, ("conclusion",)), at(run, ("html_url",)))


def _github_status(payload: Mapping[str, object]) -> Ci:
    branch = at(payload, ("branches", "0", "name"))
    return _ci(payload, branch, *(at(payload, (key,)) for key in ("context", "state", "target_url")))


def _ci(payload: Mapping[str, object], branch: object, name: object, result: object, url: object) -> Ci:
    return Ci(repository_of(payload), said(branch, 120), said(name, 120), said(result, 40), said(url, 300))


def from_gitlab(payload: Mapping[str, object]) -> Told | Ci | None:
    """What a GitLab event says, if it is one to tell."""
    match at(payload, ("object_kind",)):
        case "merge_request":
            action = at(payload, ("object_attributes", "action"))
            return _gitlab_action(payload, str(action))
        case "note" if at(payload, ("merge_request", "iid")):
            who = said(at(payload, ("user", "username")), 60)
            words, key = _merge(payload, "merge_request")
            body = f"{who} commented on {words}{_quoted(at(payload, ('object_attributes', 'note')))}"
            name = said(at(payload, ("object_attributes", "id")), 30)
            return Told(body, f"review:{key}:comment:{name}", TAGS, TTL)
        case "pipeline":
            found = at(payload, ("object_attributes",))
            return _ci(
                payload, at(found, ("ref",)), "pipeline", at(found, ("status",)), at(found, ("url",))
            )
    return None


def _gitlab_action(payload: Mapping[str, object], action: str) -> Told | None:
    if action not in _MR_ACTIONS:
        return None
    who = said(at(payload, ("user", "username")), 60)
    words, key = _merge(payload, "object_attributes")
    return Told(f"{who} {_MR_ACTIONS[action]} {words}.", f"review:{key}:{who}", TAGS, TTL)


def _merge(payload: Mapping[str, object], place: str) -> tuple[str, str]:
    number, title = said(at(payload, (place, "iid")), 20), said(at(payload, (place, "title")), 120)
    repository = repository_of(payload)
    return f'merge request !{number} "{title}"{_inside(repository)}', f"{repository}!{number}"


class CiMemory:
    """The last result of each check, a thousand at most: passing is news only after failing."""

    def __init__(self, most: int = 1_000) -> None:
        self._failing: OrderedDict[str, None] = OrderedDict()
        self._most = most

    def tell(self, ci: Ci) -> Told | None:
        """What to say of a result, if anything."""
        key = f"ci:{ci.repository}:{ci.branch}:{ci.name}"
        where = f" on {ci.branch} of {ci.repository}" if ci.branch else _inside(ci.repository)
        more = f" See {ci.url}" if ci.url else ""
        if ci.result in _FAILED:
            self._failing[key] = None
            if len(self._failing) > self._most:
                self._failing.popitem(last=False)
            return Told(f"CI: {ci.name} failed{where} ({ci.result}).{more}", key, CI_TAGS, TTL)
        if ci.result in _PASSED and key in self._failing:
            del self._failing[key]
            return Told(f"CI: {ci.name} passes again{where}.", key, CI_TAGS, TTL)
        return None
