"""`render`: pending reminders and a conversation become one vendor request. Pure; writes nothing.

The route decides the placement, the plan decides the slots, the wire writes the body. After the
answer, `mark_fired` tells the transcript and the log what the request showed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.errors import CallerError, PlacementError
from tidings.rendering import route as routes
from tidings.rendering.anthropic import Anthropic
from tidings.rendering.append_only import append
from tidings.rendering.conversation import Conversation, checked
from tidings.rendering.gemini import Gemini
from tidings.rendering.openai_chat import OpenAIChat
from tidings.rendering.openai_responses import OpenAIResponses
from tidings.rendering.pieces import Piece, SystemInput, Wire, gather
from tidings.rendering.plain import Plain
from tidings.rendering.plan import Candidates, Planned, candidates, planned
from tidings.rendering.request import Issued, Placement, Request
from tidings.rendering.route import Route

_WIRES: dict[routes.Wire, Wire] = {
    "anthropic": Anthropic(),
    "openai_chat": OpenAIChat(),
    "openai_responses": OpenAIResponses(),
    "gemini": Gemini(),
    "plain": Plain(),
}


def render(
    route: Route | str,
    *,
    messages: Sequence[Message] | Conversation = (),
    reminders: Iterable[object] = (),
    system: SystemInput = None,
    system_prompt_parts: SystemInput = None,
    system_appendix: SystemInput = None,
    system_suffix: SystemInput = None,
    placement: Placement | None = None,
    issued: Sequence[Issued] = (),
    breakpoints: int = 0,
) -> Request:
    """The request body for `route`, with `reminders` (`transcript.pending`) in their places.

    `messages` are in the route's own wire form and stay as they are; a `Conversation` was checked as it
    grew. `issued` is what the previous
    append-only request returned. `breakpoints` counts cache marks elsewhere, such as on tools.

    Raises:
        CallerError: an argument that cannot be read.
        PlacementError: a placement that the vendor would refuse.
    """
    target = routes.route(route) if isinstance(route, str) else route
    place = _placement(target, placement, issued)
    turns = _conversation(target, messages)
    before = [*gather("system_prompt_parts", system_prompt_parts), *gather("system", system)]
    after = [*gather("system_appendix", system_appendix), *gather("system_suffix", system_suffix)]
    found = candidates(reminders)
    if place != "seed":
        return _appended(target, turns, found, [*before, *after], issued)
    if not isinstance(messages, Conversation):
        return _seeded(planned(target, found), turns, before, after, breakpoints)
    messages.planned = planned(target, found, messages.planned)
    return _seeded(messages.planned, turns, before, after, breakpoints)


def _seeded(
    made: Planned,
    messages: Sequence[Message],
    before: list[Piece],
    after: list[Piece],
    breakpoints: int,
) -> Request:
    route, plan = made.route, made.plan
    system = [*before, *plan.system, *after]
    wire = _WIRES[route.wire]
    return Request(
        route=route.name,
        placement="seed",
        body=wire.body(system, messages, plan.developer, plan.blocks, plan.cached, breakpoints),
        rendered=plan.rendered,
        roles=plan.roles,
        dropped=made.found.dropped,
        lost=plan.lost,
        late=plan.late,
        waiting=plan.warnings,
        planned=made,
    )


def _appended(
    route: Route,
    messages: Sequence[Message],
    found: Candidates,
    system: list[Piece],
    issued: Sequence[Issued],
) -> Request:
    wire = _WIRES[route.wire]
    appended = append(route, wire, messages, found, issued)
    return Request(
        route=route.name,
        placement="append_only",
        body=wire.body(system, appended.messages),
        rendered=appended.fresh,
        lost=appended.lost,
        appended=appended.shown,
        dropped=found.dropped,
        issued=appended.issued,
        late=appended.late,
        held=appended.held,
        waiting=appended.warnings,
        announced=appended.announced,
    )


def _placement(route: Route, asked: str | None, issued: Sequence[Issued]) -> Placement:
    if asked not in (None, "seed", "append_only"):
        raise CallerError(f"`placement` must be seed, append_only or None; got {asked!r:.80}")
    if asked == "append_only" or (asked is None and (route.preserved_thinking or issued)):
        return "append_only"
    if route.preserved_thinking:
        raise PlacementError(
            f"route {route.name} binds thinking blocks to the text before them: what is shown cannot "
            'be taken back, so placement "seed" would be refused; leave placement=None'
        )
    if issued:
        raise PlacementError('`issued` belongs to placement "append_only"; this request asks for "seed"')
    return "seed"


def _conversation(route: Route, messages: object) -> Sequence[Message]:
    if isinstance(messages, Conversation):
        return messages.messages
    if isinstance(messages, str):
        return [_user_message(route, messages)]
    return checked(route.wire, messages)


def _user_message(route: Route, text: str) -> Payload:
    if route.wire == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": text}
