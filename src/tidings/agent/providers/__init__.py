"""Reminder providers: the eight canonical ones, which are enabled, and the pass that asks them."""

from tidings.agent.providers.evaluation import Evaluated, Pass, Skipped, evaluate
from tidings.agent.providers.options import ReminderOptionsError, check_providers, enabled_providers
from tidings.agent.providers.table import TABLE

__all__ = [
    "TABLE",
    "Evaluated",
    "Pass",
    "ReminderOptionsError",
    "Skipped",
    "check_providers",
    "enabled_providers",
    "evaluate",
]
