"""Importers by format name, in the order in which they are asked whether they know a record: the
specific before the general.
"""

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
