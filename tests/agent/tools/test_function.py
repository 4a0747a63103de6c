"""A Python function becomes a tool: what the model is told, what the function gets, what comes back."""

from __future__ import annotations

import asyncio
import enum
import functools
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.tools.calling import call, outcome, receipts
from tidings.agent.port import Outcome, ToolSpec
from tidings.agent.tools.function import as_tool, tool
from tidings.agent.tools.tool import ArgumentError, ToolContext
from tidings.errors import CallerError


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.5


class Options(TypedDict):
    depth: int
    label: NotRequired[str]


@dataclass
class Tree:
    children: list[Tree]


def paint(
    place: Point,
    colour: Colour,
    names: list[str],
    options: Options,
    extra: dict[str, object],
    mode: Literal["fast", "slow"] = "fast",
    scale: Annotated[float, "How large."] = 1.0,
    note: str | None = None,
    loud: bool = False,
) -> str:
    """Paint something
    somewhere.

    Longer talk for people.

    Args:
        place: Where to paint,
            counted from the top.
        names (list): Whom to tell: everyone.

    Returns:
        What was done.
    """
    return repr((place, colour, names, options, extra, mode, scale, note, loud))


def test_the_model_is_told_the_whole_signature() -> None:
    assert as_tool(paint).spec == ToolSpec(
        "paint",
        "Paint something somewhere.",
        {
            "type": "object",
            "properties": {
                "place": {
                    "type": "object",
                    "properties": {"x": {"type": "integer"}, "y": {"type": "number", "default": 0.5}},
                    "required": ["x"],
                    "description": "Where to paint, counted from the top.",
                },
                "colour": {"type": "string", "enum": ["blue", "red"]},
                "names": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Whom to tell: everyone.",
                },
                "options": {
                    "type": "object",
                    "properties": {"depth": {"type": "integer"}, "label": {"type": "string"}},
                    "required": ["depth"],
                },
                "extra": {"type": "object"},
                "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
                "scale": {"type": "number", "description": "How large.", "default": 1.0},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                "loud": {"type": "boolean", "default": False},
            },
            "required": ["place", "colour", "names", "options", "extra"],
            "additionalProperties": False,
        },
    )


def test_the_function_gets_its_own_types() -> None:
    given = outcome(
        paint,
        place={"x": 1},
        colour="red",
        names=["a"],
        options={"depth": 2.0},
        extra={"k": [None]},
        mode="slow",
    )
    expected = (Point(1), Colour.RED, ["a"], {"depth": 2}, {"k": [None]}, "slow", 1.0, None, False)
    assert given == Outcome(text=repr(expected))


def test_what_a_function_does_to_its_arguments_is_not_done_to_the_call() -> None:
    @tool
    def tidy(names: list, options: dict) -> str:  # type: ignore[type-arg]
        """Change what was given."""
        names.clear()
        options.clear()
        return "tidied"

    arguments: dict[str, Any] = {"names": ["a"], "options": {"b": 1}}
    assert outcome(tidy, **arguments).text == "tidied"
    assert arguments == {"names": ["a"], "options": {"b": 1}}


def test_every_problem_of_a_call_is_named_with_its_value_and_its_fix() -> None:
    def move(count: int, where: Literal["up", "down"], place: Point) -> str:
        raise AssertionError("it must not run")

    (receipt,) = receipts([move], call("move", count="3", wher="up", place={"x": "a"}))
    assert (receipt.status, receipt.error_trace, receipt.approved_by) == ("invalid", None, None)
    assert receipt.outcome == Outcome(
        ok=False,
        text="tool 'move' was not run: "
        'argument \'where\' is missing; send {"type":"string","enum":["down","up"]}; '
        "argument 'count' is '3': Expected `int`, got `str`; send {\"type\":\"integer\"}; "
        "argument 'wher' is unknown; did you mean 'where'?; "
        "argument 'place' is {'x': 'a'}: Expected `int`, got `str` - at `place.x`; send "
        '{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"number","default":0.5}},'
        '"required":["x"]}',
    )


def test_results_are_text_outcomes_or_json() -> None:
    def results(kind: str) -> object:
        return {
            "text": "plain",
            "outcome": Outcome(text="own", ok=False, data={"n": 1}),
            "point": Point(1, 2.0),
            "none": None,
            "list": [1, Colour.RED, Path("x").name],
        }[kind]

    assert [outcome(results, kind=kind) for kind in ("text", "outcome", "point", "none", "list")] == [
        Outcome(text="plain"),
        Outcome(text="own", ok=False, data={"n": 1}),
        Outcome(text='{"x":1,"y":2.0}'),
        Outcome(text="null"),
        Outcome(text='[1,"red","x"]'),
    ]


def test_a_result_without_json_form_is_an_error_that_names_its_type() -> None:
    def broken() -> object:
        return {"socket": threading.Lock()}

    (receipt,) = receipts([broken], call("broken"))
    assert receipt.status == "failed"
    assert "tool 'broken' returned a dict that has no JSON form" in receipt.outcome.text


def test_plain_functions_run_in_a_thread_and_coroutines_in_the_loop() -> None:
    here = threading.get_ident()

    def plain() -> bool:
        return threading.get_ident() == here

    async def native() -> bool:
        return threading.get_ident() == here and asyncio.get_running_loop().is_running()

    assert outcome(plain) == Outcome(text="false")
    assert outcome(native) == Outcome(text="true")


def test_the_context_reaches_the_function_and_not_the_model() -> None:
    def about(context: ToolContext, word: str) -> list[str]:
        return [context.session_id, context.call_id, word]

    assert as_tool(about).spec.schema["required"] == ["word"]
    assert outcome(about, word="w") == Outcome(text='["s1","c1","w"]')


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def up(self, by: int) -> int:
        """Count."""
        self.count += by
        return self.count

    async def __call__(self, by: int) -> int:
        return self.up(by)


def test_methods_partials_and_callable_objects_are_functions_too() -> None:
    counter = Counter()
    assert outcome(counter.up, by=2) == Outcome(text="2")
    assert outcome(tool(functools.partial(counter.up, by=3), name="three")) == Outcome(text="5")
    assert outcome(tool(counter, name="called"), by=1) == Outcome(text="6")


def test_options_replace_what_the_function_says() -> None:
    @tool(name="other", description="Does it.", read_only=True, deadline=3)
    def original() -> None:
        """Does not do it."""

    assert (original.spec, original.read_only, original.deadline) == (
        ToolSpec(
            "other",
            "Does it.",
            {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        ),
        True,
        3,
    )
    assert as_tool(original) is original


def test_exit_ends_the_call_and_not_the_process() -> None:
    def plain() -> None:
        raise SystemExit(4)

    async def native() -> None:
        raise SystemExit(4)

    told = Outcome(text="the tool tried to end the process (exit code 4)", ok=False)
    assert (outcome(plain), outcome(native)) == (told, told)


def no_hint(x) -> None: ...  # type: ignore[no-untyped-def]
def starred(*names: str) -> None: ...
def positional(x: int, /) -> None: ...
def stranger(lock: threading.Event) -> None: ...
def selfish(tree: Tree) -> None: ...
def forward(x: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (no_hint, "tool 'no_hint': parameter 'x' has no type hint; add one, such as x: str"),
        (
            starred,
            "tool 'starred': parameter 'names' is variadic positional; a model sends arguments by name",
        ),
        (
            positional,
            "tool 'positional': parameter 'x' is positional-only; a model sends arguments by name",
        ),
        (stranger, "tool 'stranger': parameter 'lock': <class 'threading.Event'> has no JSON form"),
        (selfish, "tool 'selfish': parameter 'tree': Tree contains itself"),
        (forward, "tool 'forward': a type hint cannot be read (name 'Missing' is not defined)"),
        (lambda: None, "cannot be a tool under the name '<lambda>'; give name="),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_when_it_is_made(function: Any, words: str) -> None:
    with pytest.raises(CallerError) as caught:
        tool(function)
    assert words in str(caught.value)


@pytest.mark.parametrize("deadline", [0, -1.0, float("nan")])
def test_a_deadline_must_be_seconds_above_zero(deadline: float) -> None:
    with pytest.raises(CallerError, match="deadline is"):
        tool(paint, deadline=deadline)


HINTS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "text": (str, st.text()),
    "whole": (int, st.integers(-(2**53), 2**53)),
    "real": (float, st.floats(allow_nan=False, allow_infinity=False)),
    "yes": (bool, st.booleans()),
    "many": (list[int], st.lists(st.integers(-9, 9))),
    "maybe": (int | None, st.none() | st.integers(-9, 9)),
    "choice": (Literal["a", "b"], st.sampled_from(["a", "b"])),
    "colour": (Colour, st.sampled_from(Colour)),
    "point": (Point, st.builds(Point, st.integers(-9, 9), st.floats(-9, 9))),
    "table": (dict[str, list[bool]], st.dictionaries(st.text(), st.lists(st.booleans()))),
}


@given(st.fixed_dictionaries({name: strategy for name, (_, strategy) in HINTS.items()}))
def test_arguments_sent_as_json_arrive_as_they_were(values: dict[str, Any]) -> None:
    seen: dict[str, object] = {}

    async def catch(text, whole, real, yes, many, maybe, choice, colour, point, table) -> str:  # type: ignore[no-untyped-def]
        seen.update(locals())
        return ""

    catch.__annotations__ = {name: hint for name, (hint, _) in HINTS.items()}
    sent = msgspec.json.decode(msgspec.json.encode(values))
    run = tool(catch).bind(sent)
    asyncio.run(run(ToolContext()))  # type: ignore[arg-type]
    assert {name: seen[name] for name in values} == values


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


PAINT = as_tool(paint)


@settings(max_examples=200)
@given(
    st.dictionaries(st.sampled_from(["place", "colour", "names", "options", "extra", "mode", "zzz"]), JSON)
)
def test_whatever_a_model_sends_is_taken_or_answered_with_problems(arguments: dict[str, object]) -> None:
    with suppress(ArgumentError):
        PAINT.bind(arguments)
