"""Interrupting a running prompt, where the agent says that it can be steered.

The de-facto method is `_session/steering`. It makes the agent ask its model again, so only
`interrupt_immediate` uses it, one request per session at a time. What the agent does not take
stays for the next prompt; a prompt of our own is never sent.
"""

from __future__ import annotations

from collections.abc import Callable

from tidings.acp.proxy.block import Composed
from tidings.acp.proxy.message import Head, members, text
from tidings.acp.proxy.places import Place
from tidings.acp.proxy.requests import Requests

METHOD = "_session/steering"
TAKEN = ("injected", "startedNewTurn")


class Steering:
    """Asks the agent to take urgent reminders in. `news` is called when it has answered."""

    def __init__(self, requests: Requests, news: Callable[[], None]) -> None:
        self.supported = False
        self._requests = requests
        self._news = news

    def try_on(self, place: Place) -> None:
        """Steer what is urgent into the running prompt of `place`, if there is one."""
        if not self.supported or place.steered or not place.running or place.desk is None:
            return
        if not place.desk.is_urgent():
            return
        turn = next(iter(place.running.values())).turn
        sent = place.desk.urgent(turn)
        if sent is None:
            return
        place.steered = True
        params = {
            "sessionId": place.id,
            "prompt": [sent.to_block()],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        }
        self._requests.send(METHOD, params, lambda head: self._done(place, turn, sent, head))

    def _done(self, place: Place, turn: int, sent: Composed, head: Head | None) -> None:
        place.steered = False
        if place.desk is None:
            return
        outcome = None if head is None else text(members(head.result), "outcome")
        if outcome in TAKEN:
            place.desk.steered(turn, sent)
        else:
            place.desk.returned(sent)
        if head is None:
            self._news()
        self.try_on(place)
