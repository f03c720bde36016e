"""Importers by format name."""

IMPORTERS: dict[str, str] = {
    "tau_bench": "synth.importers.tau_bench:trajectories",
    "openai_messages": "synth.importers.openai_messages:trajectories",
}
