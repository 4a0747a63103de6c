"""Fixtures that need another round: the server answers with what it wants to know, and is called again.

Each is a table of questions and a function of the answers; `RequestStateBoundary` of the SDK, which the
server installs, keeps the state from being tampered with.
"""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types

from tests.conformance.content import text

Answers = Mapping[str, types.InputResponse]


def asks(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    """Ask the user for one field."""
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def samples(words: str, most: int = 100) -> types.CreateMessageRequest:
    """Ask the client's model."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=words))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=most)
    )


NAME = asks("What is your name?", "name")
ROOTS = types.ListRootsRequest()

QUESTIONS: dict[str, tuple[types.InputRequests, str | None]] = {
    "test_input_required_result_elicitation": ({"user_name": NAME}, None),
    "test_input_required_result_sampling": (
        {"capital_question": samples("What is the capital of France?")},
        None,
    ),
    "test_input_required_result_list_roots": ({"client_roots": ROOTS}, None),
    "test_input_required_result_request_state": (
        {"confirm": asks("Please confirm", "ok", "boolean")},
        "asked",
    ),
    "test_input_required_result_tampered_state": (
        {"confirm": asks("Please confirm", "ok", "boolean")},
        "asked",
    ),
    "test_input_required_result_multiple_inputs": (
        {"user_name": NAME, "greeting": samples("Generate a greeting", 50), "client_roots": ROOTS},
        "asked",
    ),
}
"""Tools with one round: what each wants to know, and the state that it gives away."""

STEPS: tuple[types.InputRequests, ...] = (
    {"step1": asks("Step 1: What is your name?", "name")},
    {"step2": asks("Step 2: What is your favorite color?", "color")},
)
CONTEXT: types.InputRequests = {"user_context": asks("What context should the prompt use?", "context")}

TOOLS = (
    *QUESTIONS,
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
)


def call(
    name: str, params: types.InputResponseRequestParams, can: types.ClientCapabilities | None
) -> types.CallToolResult | types.InputRequiredResult:
    """What a tool of this page answers; `can` is what the client declared."""
    answers = params.input_responses or {}
    if name == "test_input_required_result_multi_round":
        return _steps(params.request_state, answers)
    if name == "test_input_required_result_capabilities":
        return types.InputRequiredResult(input_requests=_possible(can))
    if name == "test_streaming_elicitation":
        return types.InputRequiredResult(input_requests={"user_name": NAME})
    questions, state = QUESTIONS[name]
    if not _answered(questions, answers) or (state is not None and params.request_state != state):
        return types.InputRequiredResult(input_requests=questions, request_state=state)
    said = ", ".join(_said(answers[key]) for key in questions)
    return types.CallToolResult(content=[text(f"Hello, {said}! state-ok" if state else f"Hello, {said}!")])


def prompt_context(params: types.GetPromptRequestParams) -> str | None:
    """What the user said that a prompt is about, if it was asked."""
    answers = params.input_responses or {}
    return _said(answers["user_context"]) if _answered(CONTEXT, answers) else None


def _steps(state: str | None, answers: Answers) -> types.CallToolResult | types.InputRequiredResult:
    """Two questions, one after the other; the state says which was asked."""
    done = int(state) if state is not None and state.isdigit() else 0
    if state is not None and not _answered(STEPS[done], answers):
        return types.InputRequiredResult(input_requests=STEPS[done], request_state=str(done))
    following = 0 if state is None else done + 1
    if following < len(STEPS):
        return types.InputRequiredResult(input_requests=STEPS[following], request_state=str(following))
    return types.CallToolResult(content=[text("All steps are done.")])


def _possible(can: types.ClientCapabilities | None) -> types.InputRequests:
    """Only what the client said that it can answer."""
    asked: types.InputRequests = {}
    if can is not None and can.elicitation is not None:
        asked["user_name"] = NAME
    if can is not None and can.sampling is not None:
        asked["greeting"] = samples("Generate a greeting", 50)
    return asked


def _answered(questions: types.InputRequests, answers: Answers) -> bool:
    return all(key in answers and _fits(question, answers[key]) for key, question in questions.items())


def _fits(question: types.InputRequest, answer: types.InputResponse) -> bool:
    match question:
        case types.ElicitRequest():
            return isinstance(answer, types.ElicitResult) and answer.content is not None
        case types.CreateMessageRequest():
            return isinstance(answer, (types.CreateMessageResult, types.CreateMessageResultWithTools))
        case _:
            return isinstance(answer, types.ListRootsResult)


def _said(answer: types.InputResponse) -> str:
    if isinstance(answer, types.ElicitResult):
        return ", ".join(str(value) for value in (answer.content or {}).values())
    if isinstance(answer, types.ListRootsResult):
        return ", ".join(str(root.uri) for root in answer.roots)
    blocks = answer.content if isinstance(answer.content, list) else [answer.content]
    return ", ".join(block.text for block in blocks if isinstance(block, types.TextContent))
