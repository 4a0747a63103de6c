"""Doing something on the panel: sending with every field, taking back one or many, consent, workspaces."""

from __future__ import annotations

from typing import Any

from tests.panel.hubs import HubProcess
from tests.panel.stage import Visitor, expect, picture
from tidings.core.reminder import Payload
from tidings.mcp.conversation import ledger as ledgers
from tidings.mcp.conversation.consent import Grant
from tidings.mcp.conversation.store import NAME, ConsentStore


def sent(hub: HubProcess, reminder_id: str) -> Payload:
    """What the hub holds of a reminder, without its times."""
    rows: list[Payload] = hub.ask("GET", "/v1/reminders")["reminders"]
    (row,) = [one for one in rows if one["reminderId"] == reminder_id]
    return {name: value for name, value in row.items() if name not in ("deliverUntilMs", "deliveries")}


def test_a_reminder_is_sent_with_every_field(hub: HubProcess, visitor: Visitor) -> None:
    hub.register("full", agent="worker", workspace="/srv/full", tags=["ops"])
    page = visitor.open("#/sessions/full/transcript")
    page.locator("#send").click()
    form = page.get_by_role("dialog")
    form.get_by_label("What happened").fill("The build is red.\nTwice.")
    form.get_by_label("Tags").fill("build, ci , ")
    form.get_by_label("Dedupe key").fill("build")
    form.get_by_label("Turns to live").fill("3")
    form.get_by_label("Let in").select_option("interrupt_immediate")
    form.get_by_text("More fields").click()
    form.get_by_label("Role").select_option("developer")
    form.get_by_label("Sub-agents").select_option("all")
    form.get_by_label("Survives compaction").check()
    form.get_by_label("Deliver within").fill("90")
    form.get_by_label("Id", exact=True).fill("mine-1")
    form.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#said")).to_have_text("Sent to 1 session.")
    assert sent(hub, "mine-1") == {
        "reminderId": "mine-1",
        "state": "waiting",
        "mode": "interrupt_immediate",
        "to": {"session": "full"},
        "reminder": {
            "id": "mine-1",
            "tags": ["build", "ci"],
            "dedupe_key": "build",
            "ttl_turns": 3,
            "preserve_on_compact": True,
            "propagate": "all",
            "role_hint": "developer",
            "body": "The build is red.\nTwice.",
        },
    }
    expect(page.locator("article.turn.next .note")).to_contain_text("The build is red.")


def address(page: Any, choice: str, value: str | None) -> None:
    page.locator("#send").click()
    form = page.get_by_role("dialog")
    form.get_by_label("What happened").fill(f"For {choice}.")
    form.get_by_label(choice).check()
    if value is not None:
        form.get_by_label("Address").fill(value)
    form.get_by_role("button", name="Send", exact=True).click()
    expect(form).to_have_count(0)


def test_a_reminder_goes_to_a_workspace_a_tag_or_everybody(hub: HubProcess, visitor: Visitor) -> None:
    hub.register("placed", agent="placed", workspace="/srv/placed", tags=["night"])
    page = visitor.open("#/sessions/placed/reminders")
    expect(page.locator(".session-head h1")).to_contain_text("placed")
    address(page, "Its workspace", None)
    address(page, "Sessions with a tag", "night")
    address(page, "All sessions", None)
    expect(page.locator(".reminders [data-reminder]")).to_have_count(3)
    rows = hub.ask("GET", "/v1/reminders?sessionId=placed")["reminders"]
    assert [row["to"] for row in rows] == [{"workspace": "/srv/placed"}, {"tag": "night"}, {"all": True}]


def test_what_the_hub_refuses_is_shown_at_its_field(hub: HubProcess, visitor: Visitor) -> None:
    visitor.expect_trouble("400|409")
    hub.remind("Taken.", {"all": True}, id="taken")
    page = visitor.open()
    page.locator("#send").click()
    form = page.get_by_role("dialog")
    submit = form.get_by_role("button", name="Send", exact=True)
    submit.click()
    expect(form.locator("#problem-body")).to_contain_text("must be a non-empty string")
    expect(form.get_by_label("What happened")).to_be_focused()
    form.get_by_label("What happened").fill("Now with a body.")
    form.get_by_label("Turns to live").fill("soon")
    submit.click()
    expect(form.locator("#problem-ttlTurns")).to_contain_text("whole number of turns")
    expect(form.locator("#problem-body")).to_be_hidden()
    form.get_by_label("Turns to live").fill("")
    form.get_by_label("workspace").check()
    form.get_by_label("Address").fill("relative/path")
    submit.click()
    expect(form.locator("#problem-to")).to_contain_text("give an absolute path")
    form.get_by_label("All sessions").check()
    form.get_by_text("More fields").click()
    form.get_by_label("Deliver within").fill("-5")
    form.get_by_text("More fields").click()
    submit.click()
    expect(form.locator("#problem-deliverWithin")).to_be_visible()
    form.get_by_label("Deliver within").fill("60")
    form.get_by_label("Id", exact=True).fill("taken")
    submit.click()
    expect(form.locator("#problem-id")).to_contain_text("taken")
    form.get_by_label("Id", exact=True).fill("fresh")
    submit.click()
    expect(form).to_have_count(0)


def test_sending_again_after_a_lost_answer_does_no_harm(hub: HubProcess, visitor: Visitor) -> None:
    visitor.expect_trouble("ERR_FAILED")
    page = visitor.open()
    page.locator("#send").click()
    form = page.get_by_role("dialog")
    form.get_by_label("What happened").fill("Once.")
    form.get_by_label("All sessions").check()
    answers = []

    def lose(route: Any) -> None:
        answers.append(route.fetch())
        route.abort()

    page.route("**/v1/reminders", lose)
    form.get_by_role("button", name="Send", exact=True).click()
    expect(form.locator("form > .problem")).to_contain_text("cannot be reached")
    page.unroute("**/v1/reminders")
    form.get_by_role("button", name="Send", exact=True).click()
    expect(form).to_have_count(0)
    rows = hub.ask("GET", "/v1/reminders")["reminders"]
    assert [answer.status for answer in answers] == [200]
    assert [row["reminder"]["body"] for row in rows].count("Once.") == 1


def test_revoking_names_what_goes_and_says_when_it_is_too_late(hub: HubProcess, visitor: Visitor) -> None:
    visitor.expect_trouble("409")
    hub.register("late", agent="late")
    hub.remind("Take me back.", {"session": "late"}, id="back-1")
    hub.remind("Too late.", {"session": "late"}, id="back-2")
    page = visitor.open("#/sessions/late/reminders/back-1")
    page.get_by_role("button", name="Revoke", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Take me back.")
    expect(dialog).to_contain_text("sent to session late")
    dialog.get_by_role("button", name="Keep").click()
    expect(page.locator(".reminders [data-reminder='back-1'] .badge")).to_have_text("queued")
    page.get_by_role("button", name="Revoke", exact=True).click()
    dialog.get_by_role("button", name="Revoke it").click()
    expect(page.locator("#said")).to_have_text("Revoked.")
    expect(page.locator(".reminders [data-reminder='back-1'] .badge")).to_have_text("revoked")
    expect(page.get_by_role("button", name="Revoke", exact=True)).to_have_count(0)
    page.locator(".reminders [data-reminder='back-2']").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    hub.ask("POST", "/v1/leases", {"sessionId": "late"})
    hub.ask("POST", "/v1/leases/acknowledge", {"sessionId": "late", "reminderIds": ["back-2"]})
    dialog.get_by_role("button", name="Revoke it").click()
    expect(dialog.locator(".problem")).to_contain_text("already_delivered")


def test_clearing_shows_what_goes_before_it_goes(own_hub: HubProcess, visit: Any) -> None:
    for number in range(3):
        own_hub.remind(f"CI news {number}.", {"all": True}, id=f"ci-{number}", tags=["ci"])
    own_hub.remind("Stays.", {"all": True}, id="stays", tags=["ops"])
    page = visit(own_hub).open("#/queue")
    expect(page.locator(".places .count")).to_have_text("4")
    page.get_by_role("button", name="Take back", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Everything with").select_option(label="tag “ci” (3)")
    expect(dialog.locator(".named li")).to_have_count(3)
    expect(dialog.locator(".named")).to_contain_text("CI news 2.")
    dialog.get_by_role("button", name="Take back 3 reminders").click()
    expect(page.locator("#said")).to_have_text("3 reminders taken back.")
    expect(page.locator(".queue .badge")).to_have_text(["waiting", "revoked", "revoked", "revoked"])
    expect(page.locator(".places .count")).to_have_text("1")
    assert [row["reminderId"] for row in own_hub.ask("GET", "/v1/reminders")["reminders"]] == ["stays"]


def consents(hub: HubProcess) -> ConsentStore:
    """The user's consents: one server, which was sent something."""
    store = ConsentStore(hub.folder / "config" / "tidings" / NAME)
    grant = Grant(
        server="notes", target="t" * 64, what="notes-server", scopes=("message", "history", "assistant")
    )
    store.grant(grant)
    entry = ledgers.Sent(
        server="notes", target=grant.target, event="userMessage", form="request", scopes=("message",),
        project="/srv/app", session_id="s", conversation_id="c", message_id="m", history=0, bytes=4711,
        sha256="0" * 64,
    )  # fmt: skip
    with ledgers.open_ledger(store.path.with_name(ledgers.NAME)) as log:
        ledgers.write(log, [entry])
    return store


def test_consent_is_shown_with_its_ledger_and_taken_back_with_a_switch(
    own_hub: HubProcess, visit: Any
) -> None:
    store = consents(own_hub)
    page = visit(own_hub).open("#/consent")
    expect(page.locator(".grant h2")).to_contain_text("notes")
    expect(page.get_by_role("switch")).to_have_count(3)
    picture(page, "consent")
    expect(page.locator(".ledger tbody tr")).to_contain_text("4,711 bytes")
    page.get_by_role("switch", name="notes sees what the assistant answers").click()
    page.get_by_role("button", name="Take it back").click()
    expect(page.get_by_role("switch")).to_have_count(2)
    assert [one.scopes for one in store.read().grants] == [("message", "history")]
    page.get_by_role("switch", name="notes sees the messages that you send").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".named li")).to_have_text(
        ["the messages that you send", "the recent history beside them"]
    )
    dialog.get_by_role("button", name="Take it back").click()
    expect(page.locator("#said")).to_have_text("notes sees nothing any more.")
    expect(page.locator(".grants")).to_contain_text("No server may see your conversations.")
    expect(page.locator(".ledger tbody tr")).to_have_count(3)
    assert store.read().grants == ()


def test_workspaces_show_their_watchers_and_what_is_wrong_as_it_changes(
    own_hub: HubProcess, visit: Any
) -> None:
    folder = own_hub.folder / "shop"
    folder.mkdir()
    (folder / "tidings.toml").write_text("wrong = [\n")
    page = visit(own_hub).open("#/workspaces")
    attached = page.locator(".workspace", has_text="shop")
    expect(attached).to_have_count(0)
    own_hub.ask("POST", "/v1/workspaces", {"path": str(folder)})
    expect(attached.locator(".problem").first).to_contain_text("not TOML")
    (folder / "tidings.toml").write_text("[watch.files]\n")
    own_hub.ask("POST", "/v1/workspaces", {"path": str(folder)})
    expect(attached.locator(".problem")).to_have_count(0)
    expect(attached.locator(".watchers li")).to_contain_text("watching")
    picture(page, "workspaces")
    own_hub.ask("POST", "/v1/workspaces/detach", {"path": str(folder)})
    expect(attached).to_have_count(0)
