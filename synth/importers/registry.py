"""Importers by format name, in the order in which they are asked whether they know a record: the
specific before the general. File names are never asked.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from synth.importers.records import Format

IMPORTERS: dict[str, str] = {
    "synth": "synth.importers.synth_run:FORMAT",
    "tau2": "synth.importers.tau2:FORMAT",
    "tau_bench": "synth.importers.tau_bench:FORMAT",
    "agentrx": "synth.importers.agentrx:FORMAT",
    "who_and_when": "synth.importers.who_and_when:FORMAT",
    "toolbench": "synth.importers.toolbench:FORMAT",
    "fireact": "synth.importers.fireact:FORMAT",
    "swe_agent": "synth.importers.swe_agent:FORMAT",
    "mini_swe_agent": "synth.importers.mini_swe_agent:FORMAT",
    "inspect": "synth.importers.inspect_log:FORMAT",
    "atif": "synth.importers.atif:FORMAT",
    "claude_code": "synth.importers.claude_code:FORMAT",
    "codex": "synth.importers.codex:FORMAT",
    "openai_messages": "synth.importers.openai_messages:FORMAT",
}


@cache
def importer(name: str) -> "Format":
    """The importer of a format; only those that are asked for are imported."""
    module, _, attribute = IMPORTERS[name].partition(":")
    return cast("Format", getattr(import_module(module), attribute))


def format_of(value: Any) -> str | None:
    """The name of the first format that recognises such a record, or None."""
    return next((name for name in IMPORTERS if importer(name).recognises(value)), None)
