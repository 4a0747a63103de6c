"""The last resort for an agent that takes no reminders: a marked text in the prompt that the user sends.

Reminders wait here until the caller prompts, and become one trailing text block that says who wrote it.
Nothing is ever sent by itself, nothing while a prompt runs, and nothing behind a slash command, which would
read it as its arguments. Each goes out once: the agent keeps what it was sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tidings.acp.capabilities import Capabilities
from tidings.acp.host.events import Deduped, Emitted, Event, Expired
from tidings.core.lifecycle import Selector
from tidings.core.mailbox import Item, Mailbox, RevokeError
from tidings.core.reminder import Payload, Reminder
from tidings.core.text import escape, neutralise

IN_PROMPT = Capabilities(role_hints=("user_block",), modes=("finish_step",))
"""What a text in a prompt can do: it is seen at the next turn, as part of what the user sent."""

PROVENANCE = "The user did not type this. The host program added it to tell you what happened:"


class Waiting:
    """The reminders of one session that wait for its next prompt."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._box = Mailbox()

    def add(self, reminder: Reminder) -> int:
        """Let one wait; gives how many of the same key it will replace.

        Raises:
            MailboxFullError: too many wait already.
        """
        replaced = self._box.same_key(reminder)
        self._box = self._box.push(Item("finish_step", reminder))
        return replaced

    def rows(self) -> tuple[Payload, ...]:
        """What waits, as `session/pending_injections` would tell it."""
        return tuple(self._box.rows())

    def revoke(self, reminder_id: str) -> str:
        """Take one back: `revoked` or `already_revoked`.

        Raises:
            RevokeError: it was sent, or nobody knows it.
        """
        self._box, status = self._box.revoke(reminder_id)
        if status in ("revoked", "already_revoked"):
            return status
        raise RevokeError(reminder_id, status)

    def clear(self, selector: Selector) -> tuple[Event, ...]:
        """Remove matching ones, and tell that they left."""
        gone = [item.id for item in self._box.items if _reminder_matches(selector, item)]
        for reminder_id in gone:
            self._box, _ = self._box.revoke(reminder_id)
        return tuple(Expired(session_id=self._session_id, reminder_id=one, phase="cleared") for one in gone)

    def take(self, blocks: Sequence[Payload]) -> tuple[Item, ...]:
        """What goes with a prompt of these blocks; it no longer waits."""
        if not self._box.items or _is_command(blocks):
            return ()
        self._box, taken = self._box.drain("iteration_start")
        return taken

    def put_back(self, taken: tuple[Item, ...]) -> None:
        """The agent refused the prompt: they wait again, before all others."""
        ids = {item.id for item in taken}
        delivered = tuple(one for one in self._box.delivered if one not in ids)
        self._box = replace(self._box, items=(*taken, *self._box.items), delivered=delivered)

    def sent(self, taken: tuple[Item, ...], turn: int) -> tuple[Event, ...]:
        """What to tell of those that went with an answered prompt."""
        told: list[Event] = []
        for reminder in winners(taken):
            dropped = _losers(taken, reminder)
            if dropped:
                who = {"session_id": self._session_id, "reminder_id": reminder.id}
                told.append(Deduped(**who, dedupe_key=reminder.dedupe_key, dropped_ids=dropped))
            told.append(_emitted(self._session_id, reminder, turn))
        return tuple(told)


def winners(taken: Sequence[Item]) -> tuple[Reminder, ...]:
    """Those that are shown: of each key the newest, in order."""
    reminders = [item.what for item in taken if isinstance(item.what, Reminder)]
    newest = {r.dedupe_key: r.id for r in reminders if r.dedupe_key is not None}
    return tuple(r for r in reminders if r.dedupe_key is None or newest[r.dedupe_key] == r.id)


def block(taken: Sequence[Item]) -> list[Payload]:
    """The block to append to a prompt, if anything goes with it."""
    shown = winners(taken)
    if not shown:
        return []
    told = [{"reminderId": reminder.id, "tags": list(reminder.tags)} for reminder in shown]
    return [
        {
            "type": "text",
            "text": "\n\n".join(_marked(reminder.body) for reminder in shown),
            "annotations": {"audience": ["assistant"]},
            "_meta": {"harn": {"reminders": told}},
        }
    ]


def _marked(body: str) -> str:
    return f"<system-reminder>\n{PROVENANCE}\n{escape(neutralise(body))}\n</system-reminder>"


def _losers(taken: Sequence[Item], winner: Reminder) -> tuple[str, ...]:
    if winner.dedupe_key is None:
        return ()
    reminders = (item.what for item in taken if isinstance(item.what, Reminder))
    return tuple(r.id for r in reminders if r.dedupe_key == winner.dedupe_key and r.id != winner.id)


def _emitted(session_id: str, reminder: Reminder, turn: int) -> Emitted:
    return Emitted(
        session_id=session_id,
        reminder_id=reminder.id,
        body=reminder.body,
        tags=reminder.tags,
        dedupe_key=reminder.dedupe_key,
        source="host",
        fired_at_turn=turn,
        rendered_role="user",
    )


def _reminder_matches(selector: Selector, item: Item) -> bool:
    return isinstance(item.what, Reminder) and selector.matches(item.what)


def _is_command(blocks: Sequence[Payload]) -> bool:
    text = next((one.get("text") for one in blocks if one.get("type") == "text"), None)
    return isinstance(text, str) and text.lstrip().startswith("/")
