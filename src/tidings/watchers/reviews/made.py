"""Watchers of reviews from plain settings: what the command line and a workspace's config share.

Secrets are given by the names of the variables that hold them; nothing here shows a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidings.errors import CallerError
from tidings.watchers.reviews.items import Shape
from tidings.watchers.reviews.poller import PollWatcher
from tidings.watchers.reviews.receiver import WebhookWatcher
from tidings.watchers.reviews.verifying import Scheme


def poller(
    url: str, *, form: Shape, token_env: str | None, every: float, name: str, environ: Mapping[str, str]
) -> PollWatcher:
    """A watcher that asks `url`.

    Raises:
        CallerError: a variable that is not set, or an address that cannot be asked.
    """
    headers = {"Authorization": f"Bearer {variable(token_env, environ)}"} if token_env else {}
    return PollWatcher(url, form=form, headers=headers, interval=every, name=name)


def receiver(
    secret_env: Sequence[str],
    *,
    scheme: Scheme,
    place: tuple[str, int, str],
    repositories: Sequence[str],
    form: Shape,
    name: str,
    environ: Mapping[str, str],
) -> WebhookWatcher:
    """A watcher that listens at `place`: host, port and path.

    Raises:
        CallerError: a variable that is not set, or a secret that is too short.
    """
    secrets = [variable(one, environ) for one in secret_env]
    host, port, path = place
    return WebhookWatcher(
        secrets,
        scheme=scheme,
        host=host,
        port=port,
        path=path,
        repositories=repositories,
        form=form,
        name=name,
    )


def variable(name: str, environ: Mapping[str, str]) -> str:
    """The value of a variable.

    Raises:
        CallerError: it is not set.
    """
    value = environ.get(name, "")
    if not value:
        raise CallerError(f"the variable {name!r} is not set; it must hold the secret")
    return value
