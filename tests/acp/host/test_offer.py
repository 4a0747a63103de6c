"""Lowering and refusing what an agent did not advertise: the table, and that it never raises a claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.acp import BeyondError, Capabilities, Lowered, NotAdvertisedError
from tidings.acp.host.offer import LOWER, Offer, method_for, offer
from tidings.bridge.methods import OPERATIONS
from tidings.core.reminder import PROPAGATE, ROLE_HINTS
from tidings.core.seams import MODES

CHOICES = {"propagate": PROPAGATE, "role_hint": ROLE_HINTS, "mode": MODES}


def test_the_table_knows_every_value() -> None:
    assert {field: tuple(values) for field, values in LOWER.items()} == CHOICES


def test_what_is_advertised_passes_unchanged() -> None:
    options = {"body": "b", "propagate": "session", "role_hint": "system", "mode": "finish_step"}
    assert offer(options, Capabilities(), "refuse") == Offer(options)


@pytest.mark.parametrize(
    ("field", "asked", "allowed", "given"),
    [
        ("propagate", "all", ("session",), "session"),
        ("propagate", "all", ("none",), "none"),
        ("propagate", "session", ("all", "none"), "none"),
        ("role_hint", "system", ("user_block", "developer"), "developer"),
        ("role_hint", "user_block", ("system",), None),
        ("role_hint", "ephemeral_cache", (), None),
        ("mode", "interrupt_immediate", ("finish_step", "audit_only"), "finish_step"),
    ],
)
def test_a_value_is_lowered_to_the_nearest(
    field: str, asked: str, allowed: tuple[str, ...], given: str | None
) -> None:
    name = {"role_hint": "role_hints", "mode": "modes"}.get(field, field)
    agent = Capabilities(**{name: allowed})  # type: ignore[arg-type]
    kept = {} if given is None else {field: given}
    assert offer({field: asked}, agent, "lower") == Offer(kept, (Lowered(field, asked, given),))
    with pytest.raises(BeyondError):
        offer({field: asked}, agent, "refuse")


@pytest.mark.parametrize(
    ("field", "asked", "agent"),
    [
        ("propagate", "none", Capabilities()),
        ("propagate", "session", Capabilities(propagate=("all",))),
        ("mode", "finish_step", Capabilities(modes=("audit_only", "interrupt_immediate"))),
        ("mode", "audit_only", Capabilities(modes=("finish_step",))),
        ("mode", "interrupt_immediate", Capabilities(modes=("audit_only",))),
    ],
)
def test_what_has_nothing_lower_is_refused(field: str, asked: str, agent: Capabilities) -> None:
    with pytest.raises(BeyondError) as caught:
        offer({field: asked}, agent, "lower")
    assert (caught.value.field, caught.value.value) == (field, asked)


@given(
    st.sampled_from(sorted(CHOICES)).flatmap(lambda f: st.tuples(st.just(f), st.sampled_from(CHOICES[f]))),
    st.sets(st.sampled_from(PROPAGATE)),
    st.sets(st.sampled_from(MODES)),
)
def test_nothing_is_ever_raised(asked: tuple[str, str], propagate: set[str], modes: set[str]) -> None:
    agent = Capabilities(propagate=tuple(propagate), modes=tuple(modes))
    field, value = asked
    try:
        given = offer({field: value}, agent, "lower").options.get(field)
    except BeyondError:
        return
    order = CHOICES[field]
    assert given is None or order.index(str(given)) >= order.index(value)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_agent_that_says_nothing_or_takes_nothing_has_no_methods(operation: str) -> None:
    for agent in (None, Capabilities(methods=(f"session/{operation}",))):
        with pytest.raises(NotAdvertisedError):
            method_for(operation, agent)  # type: ignore[arg-type]
