"""Drops trajectories whose tool arguments appear in nothing the agent had read.

Entities that nothing singled out count as well (docs/provenance.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.asking import SourceMeans
from synth.filters.inferred import with_inferred_tools
from synth.schemas import Case, Filter, FilterSettings, Measure, Trajectory, Verdict
from synth.text.provenance import provenance
from synth.text.provenance.arguments import by_name
from synth.text.provenance.effect import changes, effectful_by_name

ARGUMENTS, CHOICES = "unjustified_arguments", "unjustified_choices"
_TOLD = 20
_OF_ARGUMENT = ("turn", "tool", "path")
_OF_CHOICE = (*_OF_ARGUMENT, "candidates", "proposed")


class ProvenanceConfig(FilterSettings):
    """`arguments`, `choices`: which of them drop; false only tells.

    Of the choices that are flagged, three in four truly are unjustified. `proposed`: a choice that
    the agent had put to a person, who then answered, counts as singled out. `infer`: where a source
    recorded no tool schemas, those that the calls of its trajectories show stand in for them.
    """

    arguments: bool = True
    choices: bool = True
    proposed: bool = False
    infer: bool = True


class Sources(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was looked at: the unjustified ones, and how many have which source; or `why` not.
    `inferred`: by schemas that calls show.
    """

    why: str | None = None
    list: Sequence[Mapping[str, Any]] | None = None
    counts: Mapping[str, int] | None = None
    unproposed: int | None = None
    inferred: bool | None = None


def _told(found: Sequence[Any], fields: Sequence[str]) -> list[dict[str, Any]]:
    return [{name: getattr(one, name) for name in fields} for one in found[:_TOLD]]


async def measure(
    case: Case, config: ProvenanceConfig, means: SourceMeans | None
) -> Sequence[Measure]:
    """Unjustified arguments, and unjustified choices, with those that were proposed apart.

    Both are undefined where the schemas are missing.
    """
    one = case.trajectory
    if config.infer and means is not None:  # else the trajectory is all that there is
        one = with_inferred_tools(one, means.run.ledger)
    told = True if one.tools and not case.trajectory.tools else None

    why = undefined(one)
    if why is not None:
        return [Measure(metric, None, about=Sources(why=why)) for metric in (ARGUMENTS, CHOICES)]

    report = provenance(one)
    guessed = [choice for choice in report.choices if choice.unjustified]
    wrong = None if report.justified is None else float(len(report.unjustified))
    arguments = Sources(
        list=_told(report.unjustified, _OF_ARGUMENT), counts=dict(report.counts), inferred=told
    )
    choices = Sources(
        list=_told(guessed, _OF_CHOICE), unproposed=sum(not choice.proposed for choice in guessed)
    )
    return [
        Measure(ARGUMENTS, wrong, about=arguments),
        Measure(CHOICES, float(len(guessed)) if report.choices else None, about=choices),
    ]


def undefined(trajectory: Trajectory) -> str | None:
    """Why nothing can be said of a trajectory, None where something can.

    Without the schemas of the tools that were called, enumerated values look invented.
    """
    known = by_name(trajectory.tools)
    called = {call.name for turn in trajectory.turns for call in turn.tool_calls}
    if not known and any(map(effectful_by_name, called)):
        return "no_tool_schemas"
    acts = any(changes(name, known.get(name)) for name in called)
    acts = acts or bool(provenance(trajectory).findings)  # a query that changes rows
    return None if acts else "no_effectful_call"


async def justified(case: Case, config: ProvenanceConfig) -> Verdict:
    """Keep where every argument and choice has a source.

    Undefined where there is nothing to judge, or no schemas to judge it by.
    """
    found = {measured.metric: measured for measured in case.measures}
    arguments, choices = found[ARGUMENTS], found[CHOICES]
    detail = {"arguments": arguments.about.list or [], "choices": choices.about.list or []}
    if config.arguments and arguments.value:
        return Verdict(False, "unjustified_argument", arguments.value, detail)
    guessed = choices.about.unproposed if config.proposed else choices.value
    if config.choices and guessed:
        return Verdict(False, "unjustified_choice", float(guessed), detail)
    if arguments.value is None and choices.value is None:
        return Verdict(None, arguments.about.why or "nothing_judged")
    wrong = (arguments.value or 0.0) + (choices.value or 0.0)
    return Verdict(True, "justified", wrong, detail if wrong else {})


FILTER = Filter(
    ProvenanceConfig, justified, measure=measure, version=6, about=Sources, measured=("infer",)
)
