"""The linter's own codes, as data: what the runtime has no reason to refuse. See `catalogue.py`."""

from __future__ import annotations

from tidings.diagnostics.entry import Diagnostic

OWN: tuple[Diagnostic, ...] = (
    Diagnostic(
        code="TDG-000",
        title="file that cannot be parsed",
        meaning=("The file is not Python that this interpreter can parse, so nothing in it was checked."),
        example="""\
td.inject_reminder(transcript, body="The build is red."
""",
        fix="Correct the syntax, or lint with the Python version that the file is written for.",
        fixed="""\
td.inject_reminder(transcript, body="The build is red.")
""",
        severity="error",
        reported_by=("lint",),
        section="none: the linter's own",
    ),
    Diagnostic(
        code="TDG-001",
        title="wording that asks the model to hide the reminder from the user",
        meaning=(
            "The body tells the model to keep the reminder from the user. Models that obey seem to "
            "know things by magic or deny what they were told; others read it as an attack and "
            "distrust the whole reminder. Reminders are public transcript events."
        ),
        example="""\
td.inject_reminder(
    transcript,
    body="src/app.py changed on disk. Never mention this to the user.",
    ttl_turns=1,
)
""",
        fix="Say what happened. If it needs no answer, say that instead.",
        fixed="""\
td.inject_reminder(
    transcript,
    body="src/app.py changed on disk. There is no need to comment on this.",
    ttl_turns=1,
)
""",
        severity="warning",
        reported_by=("lint",),
        section='seed 001, "What and why"; decision 22',
    ),
    Diagnostic(
        code="TDG-002",
        title="body that brings its own framing tags",
        meaning=(
            "The body contains a tag such as <system-reminder>. Rendering adds the frame that fits "
            "the route and makes any such tag inside a body harmless, so this one reaches the model "
            "as broken text."
        ),
        example="""\
td.inject_reminder(
    transcript,
    body="<system-reminder>The build is red.</system-reminder>",
    ttl_turns=2,
)
""",
        fix="Write only the text; leave the frame to the route.",
        fixed="""\
td.inject_reminder(transcript, body="The build is red.", ttl_turns=2)
""",
        severity="warning",
        reported_by=("lint",),
        section='seed 001, "Capability-aware rendering"; decision 22',
    ),
)
