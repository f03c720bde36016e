"""The failure modes of MAST (Cemri et al., arXiv 2503.13657), pinned.

Three legends circulate (MAST, AEGIS' operational names, AEGIS' `unified_schema.json`, which
conflicts with them in 11 of 14 entries); only this one is meant by a label that carries
`LEGEND_VERSION`.
"""

from collections.abc import Mapping

import msgspec

from synth.text.data_files import read

LEGEND_VERSION = "mast-1"
NATURAL = "natural"
"""The mode of an error that the policy made itself when it was sampled: its kind is not known."""


class Mode(msgspec.Struct, frozen=True):
    """A failure mode.

    `frequency`: percent of the failures observed in multi-agent systems; `single_agent`: one agent
    can show it.
    """

    name: str
    meaning: str
    frequency: float
    single_agent: bool = True


MODES: Mapping[str, Mode] = read("data/modes/mast.yaml", dict[str, Mode])
SINGLE_AGENT = tuple(code for code, mode in MODES.items() if mode.single_agent)


def mast_weights() -> dict[str, float]:
    """Frequency of each single-agent mode among the single-agent modes; they add up to 1."""
    total = sum(MODES[code].frequency for code in SINGLE_AGENT)
    return {code: MODES[code].frequency / total for code in SINGLE_AGENT}
