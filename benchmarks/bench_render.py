"""Rendering a thousand pending reminders against encoding the body that comes out."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

import tidings as td
from benchmarks.bench_core import reminder
from benchmarks.measure import Measurement, measurement, ratio
from tidings.core.lifecycle import inject, post_turn

ROUTES = {
    "anthropic/claude-sonnet-4-5": "user_block",
    "openai/gpt-5": "system",
    "openai-responses/gpt-5": "system",
    "gemini/gemini-2.5-pro": "system",
    "plain/text": "system",
}


def filled(size: int, hint: str) -> td.Transcript:
    transcript = td.Transcript()
    for key in range(size):
        transcript = inject(transcript, replace(reminder(key, 9), role_hint=hint), "event").transcript
    return post_turn(transcript, 1).transcript


def run(quick: bool) -> list[Measurement]:
    """One ratio per wire, and what listing the pending reminders anew adds."""
    found = []
    for name, hint in ROUTES.items():
        transcript = filled(1_000, hint)
        route, pending = td.route(name), transcript.pending
        body = td.render(route, system="You are an agent.", messages="hi", reminders=pending).body

        def render(route: td.Route = route, pending: object = pending) -> None:
            td.render(route, system="You are an agent.", messages="hi", reminders=pending)

        def encode(body: object = body) -> None:
            msgspec.json.encode(body)

        value, ours, theirs = ratio(render, encode, rounds=5 if quick else 60)
        detail = f"{ours * 1e6:.0f} us against {theirs * 1e6:.0f} us"
        found.append(measurement(f"render 1,000 pending, {name}", value, target="<= 3", detail=detail))
    found.append(_listing(quick))
    return found


def _listing(quick: bool) -> Measurement:
    transcript = filled(1_000, "system")
    body = td.render("plain/text", messages="hi", reminders=transcript.pending).body

    def list_anew() -> None:
        _ = td.Transcript.of(transcript.state).pending

    value, ours, _ = ratio(list_anew, lambda: msgspec.json.encode(body), rounds=5 if quick else 60)
    return measurement("list 1,000 pending anew, plain body", value, detail=f"{ours * 1e6:.0f} us")
