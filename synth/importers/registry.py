"""Importers by format name, in the order in which they are asked whether they know a record: the
specific before the general. File names are never asked.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from synth.importers.records import Format

IMPORTERS: dict[str, str] = {
    "synth": "synth.importers.interchange.synth_run:FORMAT",
    "tau2": "synth.importers.research.tau2:FORMAT",
    "tau_bench": "synth.importers.research.tau_bench:FORMAT",
    "agentrx": "synth.importers.research.agentrx:FORMAT",
    "who_and_when": "synth.importers.research.who_and_when:FORMAT",
    "toolbench": "synth.importers.research.toolbench:FORMAT",
    "fireact": "synth.importers.research.fireact:FORMAT",
    "swe_agent": "synth.importers.agents.swe_agent:FORMAT",
    "mini_swe_agent": "synth.importers.agents.mini_swe_agent:FORMAT",
    "inspect": "synth.importers.interchange.inspect_log:FORMAT",
    "atif": "synth.importers.interchange.atif:FORMAT",
    "claude_code": "synth.importers.agents.claude_code:FORMAT",
    "codex": "synth.importers.agents.codex:FORMAT",
    "spark": "synth.importers.streams.spark:FORMAT",
    "codex_exec": "synth.importers.streams.codex_exec:FORMAT",
    "openhands": "synth.importers.streams.openhands:FORMAT",
    "autogen": "synth.importers.frameworks.autogen:FORMAT",
    "langgraph": "synth.importers.frameworks.langgraph:FORMAT",
    "sts": "synth.importers.streams.sessions:FORMAT",
    "otel": "synth.importers.traces.opentelemetry.otel:FORMAT",
    "langfuse": "synth.importers.traces.langfuse:FORMAT",
    "langsmith": "synth.importers.traces.langsmith:FORMAT",
    "mlflow": "synth.importers.traces.mlflow:FORMAT",
    "weave": "synth.importers.traces.weave:FORMAT",
    "openai_responses": "synth.importers.traces.api_logs:RESPONSES",
    "api_logs": "synth.importers.traces.api_logs:LOGS",
    "swe_logs": "synth.importers.chats.formats:SWE",
    "comparisons": "synth.importers.chats.formats:COMPARED",
    "ai_sdk": "synth.importers.chats.formats:AI_SDK",
    "anthropic_messages": "synth.importers.chats.formats:ANTHROPIC",
    "hermes": "synth.importers.chats.formats:HERMES",
    "sharegpt": "synth.importers.chats.formats:SHAREGPT",
    "openai_messages": "synth.importers.chats.formats:OPENAI",
    "messages": "synth.importers.chats.formats:MESSAGES",
}


@cache
def importer(name: str) -> "Format":
    """The importer of a format; only those that are asked for are imported."""
    module, _, attribute = IMPORTERS[name].partition(":")
    return cast("Format", getattr(import_module(module), attribute))


def format_of(value: Any) -> str | None:
    """The name of the first format that recognises such a record, or None."""
    return next((name for name in IMPORTERS if importer(name).recognises(value)), None)
