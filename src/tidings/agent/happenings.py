"""What happens in a loop, told to hooks and providers, and what they answer put into the session.

One event goes to the hooks first (any may object, where that is allowed), then to the providers that
hear it. What they add is one commit, failures become records, and the loop goes on (decision 17). The
passes themselves are in `hooks.py` and `providers/`; this page only joins them to the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tidings.agent import store
from tidings.agent.audit import auditing, report
from tidings.agent.calling import Slot
from tidings.agent.emitted import Emitted
from tidings.agent.events import UnknownEventError, find_event
from tidings.agent.hooks import HookRun, run_hooks
from tidings.agent.port import Outcome, ToolCall
from tidings.agent.providers.evaluation import Pass, evaluate, glances
from tidings.agent.providers.facts import Recall
from tidings.agent.providers.lineup import Lineup
from tidings.agent.providers.options import check_providers, config_of
from tidings.agent.providers.pressure import THRESHOLDS
from tidings.agent.registry import Registry, default_registry
from tidings.agent.session import Session
from tidings.agent.tools.attempt import presentable
from tidings.agent.tools.receipt import Receipt
from tidings.agent.tools.tool import MAX_OUTPUT
from tidings.core import records
from tidings.core.producers import ProducerName
from tidings.core.reminder import Payload
from tidings.shell.ids import now_ms
from tidings.shell.journal import flush
from tidings.shell.transforms import admit_reminder

ReminderSettings = Mapping[str, object] | bool | None
"""The `reminders` option of a loop (seed 001, "Canonical stdlib providers")."""


class Happenings:
    """The hooks and providers of one loop, joined to its session.

    Raises:
        DiagnosticError: HARN-RMD-007, more than eight custom providers are enabled.
        ReminderOptionsError: anything else that is wrong with the `reminders` option.
    """

    def __init__(
        self,
        session: Session,
        *,
        registry: Registry | None = None,
        settings: ReminderSettings = None,
        recall: Recall | None = None,
    ) -> None:
        self._session = session
        self._registry = registry or default_registry
        self._options: Payload = {"reminders": settings}
        self._recall = recall
        self._slot = Slot()
        self.task = ""
        self._turn = asyncio.Lock()
        check_providers(self._options, self._registry)
        self._once_known: frozenset[str] = frozenset()
        self.window, self.threshold = _limits(self._options)
        self._listen()

    def _listen(self) -> None:
        """Work out who hears what; anew when a hook or provider is registered."""
        self._hooks, self._providers = self._registry.hooks, self._registry.providers
        self._once_known |= {provider.id for provider in self._providers}
        self._lineup = Lineup(self._options, self._registry, self._once_known)
        hooked = frozenset([name for hook in self._registry.hooks for name in hook.events])
        self._heard = hooked | self._lineup.events
        self._glances = {name: one for name, one in glances(self._lineup).items() if name not in hooked}

    def hears(self, event: str) -> bool:
        """Whether a hook or provider hears `event`; one that nobody hears costs no more than this."""
        registry = self._registry
        if registry.hooks is not self._hooks or registry.providers is not self._providers:
            self._listen()
        return event in self._heard

    async def happen(self, event: str, payload: Mapping[str, object]) -> str | None:
        """Tell hooks and providers of `event`; gives the reason if a hook objects to it."""
        if not self.hears(event) or self._is_passed_over(event, payload):
            return None
        return (await self.consult(event, payload)).veto

    def _is_passed_over(self, event: str, payload: Mapping[str, object]) -> bool:
        """Whether no hook hears it and no provider has to be asked, which is written with the next step."""
        glance = self._glances.get(event)
        try:
            if glance is None or not glance.suffices(payload):
                return False
        except Exception:  # noqa: BLE001  # a provider that is asked fails in the same way, with a record
            return False
        self._session.note_later(glance.records)
        return True

    async def consult(
        self, event: str, payload: Mapping[str, object], emitted: Sequence[Emitted] = ()
    ) -> HookRun:
        """Tell hooks and providers of `event`, one event at a time; gives all that the hooks said.

        What happened before is in the log then. What they add is one commit, in which `emitted` leaves the
        events that wait.
        """
        told = self._about_persona(event, payload)
        flush(self._session.journal)
        async with self._turn:
            run, asked = await self._round(event, told)
            with self._session.step():
                self._admit_hooks(run)
                self._admit_providers(asked)
                if emitted:
                    self._session.heard(emitted)
        return run

    async def _round(self, event: str, payload: Mapping[str, object]) -> tuple[HookRun, Pass]:
        run = await run_hooks(self._registry, event, payload, session_id=self._session.id)
        if run.veto is None and self.hears(event) and event in self._lineup.events:
            return run, await self._asked(event, payload)
        return run, Pass((), self._session.stored.pressure)

    def _about_persona(self, event: str, payload: Mapping[str, object]) -> Mapping[str, object]:
        if find_event(event).family not in ("turn", "notification"):
            return payload
        return {"persona": self._session.agent_id or self._session.id, **payload}

    async def handle(self, events: Sequence[Emitted]) -> None:
        """Tell of events that were emitted; an unknown one is recorded."""
        for one in events:
            try:
                name = find_event(one.event).name
            except UnknownEventError as error:
                with self._session.step():
                    self._session.note((records.warning("unknown_event", one.event, str(error)),))
                    self._session.heard((one,))
                continue
            if self.hears(name):
                await self.consult(name, one.payload, (one,))
            else:
                self._session.heard((one,), later=True)

    def object_to_the_end(self, reason: str) -> None:
        """Tell the model why a hook does not let it finish."""
        with self._session.step():
            self._admit({"body": f"The work is not finished: {reason}", "ttl_turns": 1}, "hook", "")

    async def before_tools(
        self, calls: Sequence[ToolCall]
    ) -> tuple[tuple[ToolCall, ...], tuple[Receipt, ...]]:
        """Ask `pre_tool_use` hooks about each call: those to run, and receipts of those refused."""
        allowed: list[ToolCall] = []
        refused: list[Receipt] = []
        if not self.hears("pre_tool_use"):
            return tuple(calls), ()
        for call in calls:
            payload = {"tool_name": call.name, "tool_call_id": call.id, "arguments": call.arguments}
            async with self._turn:
                run = await run_hooks(self._registry, "pre_tool_use", payload, session_id=self._session.id)
            self._admit_hooks(run, call.id)
            if run.veto is None:
                allowed.append(_with_arguments(call, run.action))
            else:
                refused.append(_refused(call, run.veto))
        return tuple(allowed), tuple(refused)

    async def after_tool(self, receipt: Receipt) -> Receipt:
        """Tell `post_tool_use` of a closed call; hooks may change the result and add reminders."""
        payload = receipt.told
        if not self.hears("post_tool_use") or self._is_passed_over("post_tool_use", payload):
            return receipt
        async with self._turn:
            run, asked = await self._round("post_tool_use", payload)
        with self._session.step():
            reports = self._admit_hooks(run, receipt.call.id)
            self._admit_providers(asked)
        changed = _with_result(receipt, run.action)
        return changed.with_reminders(reports) if reports and auditing() else changed

    def _admit_hooks(self, run: HookRun, tool_call_id: str = "") -> list[Payload]:
        """Put the hooks' reminders in and write down who failed; gives the reports for a receipt."""
        reports: list[Payload] = []
        noted = run.noted()
        if not run.reminders and not noted:
            return reports
        with self._session.step():
            self._session.note(noted)
            for name, spec in run.reminders:
                deduped = self._admit(spec, "hook", name)
                newest = self._session.transcript.pending[-1]
                reports.append(
                    report(newest, event=run.event, tool_call_id=tool_call_id, deduped_count=deduped)
                )
        return reports

    async def _asked(self, event: str, payload: Mapping[str, object]) -> Pass:
        before = self._session.stored.pressure
        asked = await evaluate(
            event,
            session=self._about_session(),
            payload=payload,
            options=self._options,
            registry=self._registry,
            recall=self._recall,
            pressure=before,
            recall_slot=self._slot,
            lineup=self._lineup,
        )
        return asked if asked.pressure != before else Pass(asked.evaluated, self._session.stored.pressure)

    def _admit_providers(self, asked: Pass) -> None:
        quiet = not any(one.fired or one.failure for one in asked.evaluated)
        if quiet and asked.pressure == self._session.stored.pressure:
            self._session.note_later([one.record() for one in asked.evaluated])
            return
        with self._session.step():
            for one in asked.evaluated:
                self._session.note((one.record(),))
                for spec in one.reminders:
                    self._admit(spec, "provider", one.provider_id)
            if asked.pressure != self._session.stored.pressure:
                self._session.stored = replace(self._session.stored, pressure=asked.pressure)
                self._session.note((), (store.changed(self._session.stored),))

    def _admit(self, spec: Payload, producer: ProducerName, name: str) -> int:
        result = admit_reminder(
            self._session.transcript,
            spec,
            producer=producer,
            provider_id=name if producer == "provider" else None,
        )
        self._session.keep(result.transcript)
        return result.deduped_count

    def _about_session(self) -> Payload:
        session = self._session
        return {
            "id": session.id,
            "agent_id": session.agent_id,
            "anchor": session.anchor,
            "roots": list(session.roots),
            "turn": session.transcript.turn,
            "task": self.task,
        }


def _limits(options: Payload) -> tuple[int | None, float]:
    """The context window that the config of token_pressure names, and the lowest share of it that some
    provider wants to hear of."""
    given = config_of(options, "token_pressure").get("context_window")
    ratio = config_of(options, "project_facts").get("refresh_ratio")
    least = THRESHOLDS[0].ratio
    share = min(least, ratio) if isinstance(ratio, (int, float)) else least
    return given if isinstance(given, int) else None, share


def _with_arguments(call: ToolCall, action: Payload) -> ToolCall:
    changed = action.get("args")
    return msgspec.structs.replace(call, arguments=dict(changed)) if isinstance(changed, Mapping) else call


def _with_result(receipt: Receipt, action: Payload) -> Receipt:
    if "result" not in action:
        return receipt
    given = action["result"]
    text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    changed = presentable(msgspec.structs.replace(receipt.outcome, text=text), MAX_OUTPUT)
    return msgspec.structs.replace(receipt, outcome=changed)


def _refused(call: ToolCall, reason: str) -> Receipt:
    text = f"Not run: a hook refused this call: {reason}"
    return Receipt(call=call, outcome=Outcome(text=text, ok=False), status="denied", started_at_ms=now_ms())
