"""What happens in a loop, told to hooks and providers, and what they answer put into the session.

One event goes to the hooks first (any may object, where that is allowed), then to the providers that
hear it. Reminders are admitted, failures become records, and the loop goes on (decision 17). The passes
themselves are in `hooks.py` and `providers/`; this page only joins them to the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tidings.agent import store
from tidings.agent.audit import auditing, report
from tidings.agent.calling import Slot
from tidings.agent.events import UnknownEventError, find_event
from tidings.agent.hooks import HookRun, run_hooks
from tidings.agent.port import Outcome, ToolCall
from tidings.agent.providers.evaluation import Pass, evaluate
from tidings.agent.providers.facts import Recall
from tidings.agent.providers.lineup import Lineup
from tidings.agent.providers.options import check_providers, config_of
from tidings.agent.providers.pressure import THRESHOLDS
from tidings.agent.registry import Registry, default_registry
from tidings.agent.session import Session
from tidings.agent.tools.receipt import Receipt
from tidings.core import records
from tidings.core.producers import ProducerName
from tidings.core.reminder import Payload
from tidings.core.seams import Seam
from tidings.shell.ids import now_ms
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
        check_providers(self._options, self._registry)
        self._lineup = Lineup(self._options, self._registry)

    async def happen(self, event: str, payload: Mapping[str, object]) -> str | None:
        """Tell hooks and providers of `event`; gives the reason if a hook objects to it."""
        run = await run_hooks(self._registry, event, payload)
        self._admit_hooks(run)
        if run.veto is None:
            await self._ask_providers(event, payload)
        return run.veto

    async def handle(self, events: Sequence[tuple[str, Payload]]) -> None:
        """Tell of events that were emitted from outside; an unknown one is recorded."""
        for name, payload in events:
            try:
                await self.happen(name, payload)
            except UnknownEventError as error:
                with self._session.step():
                    self._session.note((records.warning("unknown_event", name, str(error)),))

    async def checkpoint(self, seam: Seam, iteration: int, delivered: int) -> None:
        """Tell hooks that a seam let something in."""
        payload = {"kind": seam, "iteration": iteration, "delivered": delivered}
        self._admit_hooks(await run_hooks(self._registry, "loop_checkpoint", payload))

    async def before_tools(
        self, calls: Sequence[ToolCall]
    ) -> tuple[tuple[ToolCall, ...], tuple[Receipt, ...]]:
        """Ask `pre_tool_use` hooks about each call: those to run, and receipts of those refused."""
        allowed: list[ToolCall] = []
        refused: list[Receipt] = []
        for call in calls:
            payload = {"tool_name": call.name, "tool_call_id": call.id, "arguments": call.arguments}
            run = await run_hooks(self._registry, "pre_tool_use", payload)
            self._admit_hooks(run, call.id)
            if run.veto is None:
                allowed.append(_with_arguments(call, run.action))
            else:
                refused.append(_refused(call, run.veto))
        return tuple(allowed), tuple(refused)

    async def after_tool(self, receipt: Receipt, payload: Payload) -> Receipt:
        """Tell `post_tool_use` of a closed call; hooks may change the result and add reminders."""
        run = await run_hooks(self._registry, "post_tool_use", payload)
        reports = self._admit_hooks(run, receipt.call.id)
        await self._ask_providers("post_tool_use", payload)
        changed = _with_result(receipt, run.action)
        return changed.with_reminders(reports) if reports and auditing() else changed

    def _admit_hooks(self, run: HookRun, tool_call_id: str = "") -> list[Payload]:
        """Put the hooks' reminders in and write down who failed; gives the reports for a receipt."""
        reports: list[Payload] = []
        if not run.reminders and not run.failures:
            return reports
        with self._session.step():
            self._session.note([failed.record() for failed in run.failures])
            for name, spec in run.reminders:
                deduped = self._admit(spec, "hook", name)
                newest = self._session.transcript.pending[-1]
                reports.append(
                    report(newest, event=run.event, tool_call_id=tool_call_id, deduped_count=deduped)
                )
        return reports

    async def _ask_providers(self, event: str, payload: Mapping[str, object]) -> None:
        if not self._lineup.fits(self._registry):
            self._lineup = Lineup(self._options, self._registry)
        if not self._lineup.hearing(find_event(event).name):
            return
        stored = self._session.stored
        asked = await evaluate(
            event,
            session=self._about_session(),
            payload=payload,
            options=self._options,
            registry=self._registry,
            recall=self._recall,
            pressure=stored.pressure,
            recall_slot=self._slot,
            lineup=self._lineup,
        )
        if asked.evaluated or asked.pressure != stored.pressure:
            self._admit_providers(asked)

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

    @property
    def window(self) -> int | None:
        """The context window that the config of token_pressure names."""
        given = config_of(self._options, "token_pressure").get("context_window")
        return given if isinstance(given, int) else None

    @property
    def threshold(self) -> float:
        """The lowest share of the window that some provider wants to hear of."""
        ratio = config_of(self._options, "project_facts").get("refresh_ratio")
        return min(THRESHOLDS[0].ratio, ratio) if isinstance(ratio, (int, float)) else THRESHOLDS[0].ratio


def _with_arguments(call: ToolCall, action: Payload) -> ToolCall:
    changed = action.get("args")
    return msgspec.structs.replace(call, arguments=dict(changed)) if isinstance(changed, Mapping) else call


def _with_result(receipt: Receipt, action: Payload) -> Receipt:
    if "result" not in action:
        return receipt
    given = action["result"]
    text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    return msgspec.structs.replace(receipt, outcome=msgspec.structs.replace(receipt.outcome, text=text))


def _refused(call: ToolCall, reason: str) -> Receipt:
    text = f"Not run: a hook refused this call: {reason}"
    return Receipt(call=call, outcome=Outcome(text=text, ok=False), status="denied", started_at_ms=now_ms())
