"""Did the agent know what it wrote? Drops values that stood nowhere, and entities that nothing
singled out (docs/provenance.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.asking import SourceMeans
from synth.schemas.filter import Case, Filter, FilterSettings, Measure
from synth.schemas.trajectory import ToolSchema, Trajectory
from synth.schemas.verdict import Verdict
from synth.text.provenance import provenance
from synth.text.provenance.effect import effectful_by_name, read_only_hint

ARGUMENTS, CHOICES = "unjustified_arguments", "unjustified_choices"
_TOLD = 20


class ProvenanceConfig(FilterSettings):
    """`arguments`, `choices`: which of them drop; false only tells. Of the choices that are
    flagged, three in four truly are unjustified.

    `proposed`: a choice that the agent had put to a person, who then answered, counts as singled
    out.
    """

    arguments: bool = True
    choices: bool = True
    proposed: bool = False


class Sources(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was looked at: the unjustified ones, and how many have which source; or `why` not."""

    why: str | None = None
    list: Sequence[Mapping[str, Any]] | None = None
    counts: Mapping[str, int] | None = None
    unproposed: int | None = None


async def measure(case: Case, config: ProvenanceConfig, means: SourceMeans) -> Sequence[Measure]:
    """Unjustified arguments, and unjustified choices, with those that were proposed apart;
    undefined where the schemas are missing.
    """
    trajectory = case.trajectory
    why = undefined(trajectory)
    if why is not None:
        return [
            Measure(ARGUMENTS, None, about=Sources(why=why)),
            Measure(CHOICES, None, about=Sources(why=why)),
        ]
    report = provenance(trajectory)
    wrong = [{"turn": f.turn, "tool": f.tool, "path": f.path} for f in report.unjustified]
    guessed = [choice for choice in report.choices if choice.unjustified]
    told = [
        {
            "turn": c.turn,
            "tool": c.tool,
            "path": c.path,
            "candidates": c.candidates,
            "proposed": c.proposed,
        }
        for c in guessed
    ]
    judged = report.justified is not None
    chosen = Sources(list=told[:_TOLD], unproposed=sum(not c.proposed for c in guessed))
    return [
        Measure(
            ARGUMENTS,
            float(len(wrong)) if judged else None,
            about=Sources(list=wrong[:_TOLD], counts=dict(report.counts)),
        ),
        Measure(CHOICES, float(len(guessed)) if report.choices else None, about=chosen),
    ]


def undefined(trajectory: Trajectory) -> str | None:
    """Why nothing can be said: calls of tools whose schemas were not recorded, so that enumerated
    values look invented.
    """
    known = {str(tool.get("function", tool).get("name")): tool for tool in trajectory.tools}
    called = {call.name for turn in trajectory.turns for call in turn.tool_calls}
    unknown = {name for name in called - set(known) if effectful_by_name(name)}
    if unknown and not trajectory.tools:
        return "no_tool_schemas"
    changing = {name for name in called if _changes(name, known.get(name))}
    return None if changing else "no_effectful_call"


def _changes(name: str, schema: ToolSchema | None) -> bool:
    hint = read_only_hint(schema)
    return effectful_by_name(name) if hint is None else not hint


async def justified(case: Case, config: ProvenanceConfig) -> Verdict:
    """Keep where every argument and choice has a source; undefined where there is nothing to judge,
    or no schemas to judge it by.
    """
    found = {measured.metric: measured for measured in case.measures}
    arguments, choices = found[ARGUMENTS], found[CHOICES]
    detail = {"arguments": arguments.about.list or [], "choices": choices.about.list or []}
    if config.arguments and arguments.value:
        return Verdict(False, "unjustified_argument", arguments.value, detail)
    guessed = choices.value if not config.proposed else choices.about.unproposed
    if config.choices and guessed:
        return Verdict(False, "unjustified_choice", float(guessed), detail)
    if arguments.value is None and choices.value is None:
        return Verdict(None, arguments.about.why or "nothing_judged")
    return Verdict(
        True,
        "justified",
        (arguments.value or 0.0) + (choices.value or 0.0),
        detail if choices.value or arguments.value else {},
    )


FILTER = Filter(ProvenanceConfig, justified, measure=measure, version=1, about=Sources)
