"""For tests, yours and ours: scripted models here; the log contract suite, fake providers and hypothesis
strategies in modules of their own, since those need more than Tidings."""

from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import Answer, Usage

__all__ = ["Answer", "ScriptedModel", "Usage", "call"]
