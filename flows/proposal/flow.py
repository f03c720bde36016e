"""A flow that fits what a run holds: which filters have something to say, and which datasets there
are rows for; as a flow.yaml that its reader can keep and change.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from synth.exporters.doors import DoorTable, door_table
from synth.exporters.kind import RowSettings
from synth.flows.own.bindings import Bindings
from synth.flows.own.flow_file import flow_of
from synth.flows.own.own_flow import Settings, put_settings
from synth.flows.proposal.survey import Survey, survey
from synth.flows.resolve import resolve, roles_of_filters
from synth.flows.stages.export import ExportSettings, exports_among
from synth.ledger.ledger import StoredLedger
from synth.schemas import Flow, printable

NAME, WHERE = "curate", "the proposed flow"
TESTED = ("dpo", "kto", "prm")
"""Kinds that accepted tests give rows for."""
OBSERVED = ("dpo_observed", "kto_observed")
"""Kinds that collected trials give rows for, which no test has confirmed: only where asked for."""
JUDGE, STUDENT = "judge", "student"


def proposal(
    ledger: StoredLedger, bindings: Bindings, settings: Settings = (), *, compare: bool = False
) -> tuple[Flow, str]:
    """What to do with what a ledger holds, and the words in which it can be kept. `settings`: in
    place of the proposed ones; a model for the role `judge` or `student` is used, so its filter is
    proposed with it. `compare`: comparisons of collected trials too. Raises `ConfigError` for
    settings that do not fit.
    """
    found = survey(ledger, bindings)
    asked: dict[str, Any] = {}
    put_settings(asked, _of_models(settings))
    models = asked.get("models") or {}
    content: dict[str, Any] = {
        "name": NAME,
        **({"models": models} if models else {}),
        "stages": [
            {"filter": [*_filters(found, models)]},
            {"export": {"kinds": [*_kinds(found, compare=compare)]}},
        ],
    }
    put_settings(content, settings)
    flow = flow_of(content, (), WHERE)
    seen = [*found.lines(), *_unasked(flow, models)]

    return flow, _written(content, seen)


def _unasked(flow: Flow, models: Mapping[str, Any]) -> Iterator[str]:
    """Which models that the user names nothing of the flow asks: a role that is misspelled."""
    asked = roles_of_filters(flow)
    for role in models:
        if role not in asked:
            roles = f"`{JUDGE}` is asked by rubric, `{STUDENT}` by rank_surprisal"
            yield f"models.{role}: nothing here asks it; {roles}"


def _of_models(settings: Settings) -> Settings:
    """Those that name a model for a role."""
    if isinstance(settings, Mapping):
        return {name: value for name, value in settings.items() if _names_model(str(name))}
    return [written for written in settings if _names_model(written)]


def _names_model(written: str) -> bool:
    return written.partition("=")[0].partition(".")[0] == "models"


def doors_of(ledger: StoredLedger, flow: Flow) -> DoorTable:
    """The doors under the settings of the flow's first export of chats."""
    _, stages = resolve(flow, collect=False)
    chats = [one for _, one in exports_among(stages) if "sft" in one.kinds]
    return door_table(ledger, _rows(chats[0]) if chats else None)


def _rows(settings: ExportSettings) -> RowSettings:
    names = set(RowSettings.model_fields)
    return RowSettings(**settings.model_dump(include=names))


def _filters(found: Survey, models: Mapping[str, Any]) -> Iterator[Any]:
    """In the order of their cost: who has no world or no model to ask is not proposed."""
    yield "solved"
    if found.worlds:
        yield "reexecuted"
    # a success and the failure beside it are no copies of each other
    yield {"duplicates": {"across_outcomes": False}}
    yield "secrets"
    if JUDGE in models:
        yield "rubric"
    if STUDENT in models:
        yield "rank_surprisal"


def _kinds(found: Survey, *, compare: bool) -> Iterator[str]:
    yield "sft"
    if found.tested:
        yield from TESTED
    if compare:
        yield from OBSERVED


def _written(content: Mapping[str, Any], told: Iterable[str]) -> str:
    """As a flow.yaml, under what was seen. Names that data gave stay within their comment line."""
    seen = "".join(f"# {printable(' '.join(line.split()))}\n" for line in told)
    return f"# Proposed by `synth curate RUN`, for:\n{seen}" + yaml.safe_dump(
        dict(content), sort_keys=False, default_flow_style=None, allow_unicode=True, width=100
    )
