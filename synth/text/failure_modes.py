"""The failure modes of MAST (Cemri et al., arXiv 2503.13657), pinned: name, meaning, frequency, and
weight for a single agent.

Three legends circulate (MAST, AEGIS' operational names, AEGIS' `unified_schema.json`, which
conflicts with them in 11 of 14 entries);
only this one is meant by a label that carries `LEGEND_VERSION`.
"""

from collections.abc import Mapping

import msgspec

LEGEND_VERSION = "mast-1"
NATURAL = "natural"
"""The mode of an error that the policy made itself when it was sampled: its kind is not known."""


class Mode(msgspec.Struct, frozen=True):
    """A failure mode; `frequency` in percent of the failures observed in multi-agent systems,
    `single_agent`: one agent can show it.
    """

    name: str
    meaning: str
    frequency: float
    single_agent: bool = True


MODES: Mapping[str, Mode] = {
    "FM-1.1": Mode("Disobey task specification", "violates a stated constraint of the task", 11.8),
    "FM-1.2": Mode(
        "Disobey role specification", "acts outside its assigned role", 1.5, single_agent=False
    ),
    "FM-1.3": Mode("Step repetition", "needlessly redoes finished steps", 15.7),
    "FM-1.4": Mode(
        "Loss of conversation history", "drops recent context, returns to an older state", 2.8
    ),
    "FM-1.5": Mode("Unaware of termination conditions", "does not recognise when to stop", 12.4),
    "FM-2.1": Mode("Conversation reset", "restarts progress or dialogue without cause", 2.2),
    "FM-2.2": Mode("Fail to ask for clarification", "proceeds on unclear information", 6.8),
    "FM-2.3": Mode("Task derailment", "drifts off the objective", 7.4),
    "FM-2.4": Mode(
        "Information withholding",
        "has needed information, does not pass it on",
        0.85,
        single_agent=False,
    ),
    "FM-2.5": Mode(
        "Ignored other agent's input",
        "disregards another agent's contribution",
        1.9,
        single_agent=False,
    ),
    "FM-2.6": Mode(
        "Reasoning-action mismatch", "stated reasoning and executed action disagree", 13.2
    ),
    "FM-3.1": Mode("Premature termination", "ends before the goal is reached", 6.2),
    "FM-3.2": Mode("No or incomplete verification", "checking absent or partial", 8.2),
    "FM-3.3": Mode("Incorrect verification", "checks wrongly, so errors pass", 9.1),
}
SINGLE_AGENT = tuple(code for code, mode in MODES.items() if mode.single_agent)


def mast_weights() -> dict[str, float]:
    """Frequency of each single-agent mode among the single-agent modes; they add up to 1."""
    total = sum(MODES[code].frequency for code in SINGLE_AGENT)
    return {code: MODES[code].frequency / total for code in SINGLE_AGENT}
