"""The flow that tests what collected trials suggest: each logged prefix is replayed in its world,
and both acts are continued from there.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from synth.flows.own.bindings import Bindings
from synth.flows.own.flow_file import flow_of
from synth.flows.own.own_flow import Settings, put_settings
from synth.flows.parts import world
from synth.flows.proposal.survey import survey
from synth.ledger.ledger import StoredLedger
from synth.schemas import USER, ConfigError, Flow, FreeUserScript
from synth.synthesizers.relive import logged_in

NAME, WHERE = "confirm", "the flow of synth confirm"
ROLE = "explorer"
WHO = (
    "name who plays on after both acts, the policy that is to be trained: --set "
    "models.explorer.model=NAME --set models.explorer.base_url=URL, or --set "
    "models.explorer.policy=expert for the world's own planner"
)
CUSTOMER = (
    "the users of these logs were models, and one plays on: --set models.user.model=NAME --set "
    "models.user.base_url=URL"
)


STAGES: tuple[Mapping[str, Any], ...] = (
    {"critical_step": {"alternatives_from": ["trials"], "proposals": {"alternatives": 1}}},
    {"filter": ["solved", "secrets"]},
    # who wrote the logs need not be who is trained: each row says whether it is
    {"export": {"kinds": ["dpo", "kto", "prm"], "off_policy": "both"}},
)


def confirming(ledger: StoredLedger, bindings: Bindings, settings: Settings) -> Flow:
    """Tests acts by trials, then pairs and labels of what was accepted; logs of a harness whose
    world is here are done again in it first. Raises `ConfigError` where nobody is named who plays
    on, or no world of the tasks can be opened here.
    """
    logs = {one for one in map(logged_in, ledger.task_ids().values()) if one is not None}
    worlds = tuple(sorted({*survey(ledger, bindings).worlds, *_here(logs, bindings)}))
    content: dict[str, Any] = {
        "name": NAME,
        "models": {},
        "stages": [*map(deepcopy, STAGES)],
    }
    if len(worlds) == 1:
        content["env"] = _started(*worlds, bindings)
    put_settings(content, settings)

    if not content.get("models"):
        raise ConfigError(f"models: {WHO}")
    if not isinstance(content.get("env"), dict):
        for name in () if worlds else sorted(logs):
            bindings.world(name)  # says what is missing
        raise ConfigError(f"{ledger.storage.url}: {_no_world(worlds)}")
    if content["env"].get("name") in logs:
        content["stages"] = [*_done_again(content), *content["stages"]]
    # none of its own: the tasks are those of the trials
    content["env"].setdefault("tasks", 0)
    return flow_of(content, (), WHERE)


def _started(name: str, bindings: Bindings) -> dict[str, Any]:
    """A world as a flow names it; how one is started that cannot be opened without (a pool, a
    server) the user has said.
    """
    said = bindings.said.get(name)
    return {"name": name, **(said.start if said is not None else {}), "tasks": 0}


def _done_again(content: Mapping[str, Any]) -> Iterator[Any]:
    """The stage that does logs again. Raises `ConfigError` where their users spoke freely, and
    nobody is named who plays them.
    """
    script = world(content["env"]["name"]).user
    if isinstance(script, FreeUserScript) and USER not in content["models"]:
        raise ConfigError(f"models: {CUSTOMER}")
    yield {"relive": {}}


def _here(names: Iterable[str], bindings: Bindings) -> Iterator[str]:
    """Those that can be opened."""
    for name in names:
        try:
            bindings.world(name)
        except ConfigError:
            continue
        yield name


def _no_world(worlds: tuple[str, ...]) -> str:
    """Why the world is not known, and what to do."""
    if worlds:
        named = ", ".join(worlds)
        return f"holds tasks of several worlds ({named}); name one: --set env.name={worlds[0]}"
    return (
        "none of its tasks has a world that can be opened here: an act is tested by playing on "
        "in the world. Runs of synth bring their tasks along (docs/import/synth.md); a world of "
        "your own is named with --set env.name=package.module:attribute, or bound with "
        "--env NAME=FILE (docs/your-environment.md)"
    )
