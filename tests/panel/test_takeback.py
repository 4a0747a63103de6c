"""Taking back on the panel what a real session has: out of its mailbox, and out of its transcript."""

from __future__ import annotations

import asyncio
from typing import Any

import tidings as td
from tests.hosts.events import claude
from tests.panel.hubs import DEADLINE, HubProcess
from tests.panel.stage import Visitor, expect, picture
from tests.panel.stories import Story, nothing
from tidings.hub.complying import Done
from tidings.hub.withdrawal import WithdrawalRow
from tidings.testing import ScriptedModel


def state(page: Any, reminder_id: str) -> Any:
    return page.locator(f".reminders [data-reminder='{reminder_id}'] .badge")


def confirmed(page: Any, button: str, yes: str) -> Any:
    page.get_by_role("button", name=button, exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=yes).click()
    return dialog


async def one_turn(session: td.Session) -> None:
    """A turn that shows a reminder, which then stands without an end."""
    session.remind(body="Deploys are frozen.", id="frozen", tags=["policy"])
    await td.agent_loop("Look.", model=ScriptedModel(["Nothing to do."]), session=session)


def test_what_waits_in_a_mailbox_is_revoked_and_the_session_says_so(
    hub: HubProcess, visitor: Visitor
) -> None:
    with Story(hub, nothing, "boxed") as story:
        hub.remind("Take me back.", {"session": "boxed"}, id="sent-1")
        story.session.remind(body="I am its own.", id="own-1")
        page = visitor.open("#/sessions/boxed/reminders/sent-1")
        expect(page.locator("#detail .reason")).to_contain_text("mailbox")
        dialog = confirmed(page, "Revoke", "Revoke it")
        expect(dialog).to_have_count(0)
        expect(page.locator("#said")).to_have_text("Revoked.")
        expect(state(page, "sent-1")).to_have_text("revoked")
        expect(page.locator("#detail .history")).to_contain_text("answered: taken out of its mailbox")
        page.locator(".reminders [data-reminder='own-1']").click()
        page.keyboard.press("r")
        expect(page.get_by_role("dialog")).to_contain_text("I am its own.")
        expect(page.get_by_role("dialog")).to_contain_text("mailbox of session boxed")
        page.get_by_role("dialog").get_by_role("button", name="Revoke it").click()
        expect(state(page, "own-1")).to_have_text("revoked")
        expect(page.get_by_role("button", name="Revoke", exact=True)).to_have_count(0)
        assert story.session.stored.mailbox.items == ()


def test_what_stands_in_a_transcript_is_cleared_and_the_next_request_is_without_it(
    hub: HubProcess, visitor: Visitor
) -> None:
    with Story(hub, one_turn, "stands") as story:
        page = visitor.open("#/sessions/stands/reminders/frozen")
        expect(state(page, "frozen")).to_have_text("emitted")
        expect(page.get_by_role("button", name="Revoke", exact=True)).to_have_count(0)
        page.get_by_role("button", name="Clear", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("The next request of session stands will not show it.")
        picture(page, "clearing")
        dialog.get_by_role("button", name="Clear it").click()
        expect(page.locator("#said")).to_have_text("Cleared.")
        expect(state(page, "frozen")).to_have_text("expired")
        expect(page.locator("#detail .reason")).to_contain_text("cleared")
        assert story.session.transcript.pending == ()


def test_a_coding_agent_is_not_shown_it_again_and_keeps_what_it_has_read(
    hub: HubProcess, visitor: Visitor
) -> None:
    def hook(event: str) -> None:
        hub.ask("POST", "/v1/hosts/drain", {"host": "claude-code", "event": claude(event, "c1")})

    hook("UserPromptSubmit")
    hub.remind("Deploys are frozen.", {"session": "claude-code:c1"}, id="read-1", preserveOnCompact=True)
    hook("PostToolBatch")
    page = visitor.open("#/sessions/claude-code%3Ac1/reminders/read-1")
    page.get_by_role("button", name="Clear", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("What the agent has read stays in its own transcript.")
    dialog.get_by_role("button", name="Clear it").click()
    expect(page.locator("#said")).to_contain_text("Cleared. claude-code:c1: not shown again;")
    expect(state(page, "read-1")).to_have_text("expired")


def test_clearing_a_tag_reaches_what_sessions_have(own_hub: HubProcess, visit: Any) -> None:
    with Story(own_hub, one_turn, "tagged") as story:
        own_hub.remind("Also a policy.", {"session": "later"}, id="waits", tags=["policy"])
        page = visit(own_hub).open("#/queue")
        page.get_by_role("button", name="Take back", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("What sessions have with it, queued or pending, is removed too.")
        dialog.get_by_role("button", name="Take back 1 reminder").click()
        expect(page.locator("#said")).to_have_text("2 reminders taken back.")
        assert story.session.transcript.pending == ()


def test_a_session_that_does_not_answer_is_named(own_hub: HubProcess, visit: Any) -> None:
    async def never(row: WithdrawalRow) -> Done:
        await asyncio.sleep(DEADLINE)
        raise AssertionError(row)

    with Story(own_hub, nothing, "mute", withdraw=never) as story:
        story.session.remind(body="Mine.", id="mine")
        page = visit(own_hub).open("#/sessions/mute/reminders/mine")
        page.route(
            "**/v1/reminders/revoke",
            lambda route: route.continue_(
                post_data=route.request.post_data.replace('"waitSeconds":10', '"waitSeconds":0')
            ),
        )
        confirmed(page, "Revoke", "Revoke it")
        expect(page.locator("#said")).to_have_text("It is not revoked yet. mute: it has not answered yet.")
        expect(state(page, "mine")).to_have_text("queued")
