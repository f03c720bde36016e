"""The flow that tests what collected trials suggest: each logged prefix is replayed in its world,
and both acts are continued from there.
"""

from typing import Any

from synth.flows.bindings import Bindings
from synth.flows.flow_file import flow_of
from synth.flows.own_flow import Settings, put_settings
from synth.flows.proposal.survey import survey
from synth.ledger.ledger import Ledger
from synth.schemas import ConfigError, Flow

NAME, WHERE = "confirm", "the flow of synth confirm"
ROLE = "explorer"
WHO = (
    "name who plays on after both acts, the policy that is to be trained: --set "
    "models.explorer.model=NAME --set models.explorer.base_url=URL, or --set "
    "models.explorer.policy=expert for the world's own planner"
)


def confirming(ledger: Ledger, bindings: Bindings, settings: Settings) -> Flow:
    """Tests acts by trials, then pairs and labels of what was accepted. Raises `ConfigError` where
    nobody is named who plays on, or no world of the tasks can be opened here.
    """
    found = survey(ledger, bindings)
    content: dict[str, Any] = {
        "name": NAME,
        "models": {},
        "stages": [
            {"critical_step": {"alternatives_from": ["trials"], "proposals": {"alternatives": 1}}},
            {"filter": ["solved", "secrets"]},
            # who wrote the logs need not be who is trained: each row says whether it is
            {"export": {"kinds": ["dpo", "kto", "prm"], "off_policy": "both"}},
        ],
    }
    if len(found.worlds) == 1:
        (name,) = found.worlds
        said = bindings.said.get(name)
        # how a world is started that cannot be opened without (a pool, a server) the user has said
        content["env"] = {"name": name, **(said.start if said is not None else {}), "tasks": 0}
    put_settings(content, settings)

    if not content.get("models"):
        raise ConfigError(f"models: {WHO}")
    if not isinstance(content.get("env"), dict):
        raise ConfigError(f"{ledger.storage.url}: {_no_world(found.worlds)}")
    # none of its own: the tasks are those of the trials
    content["env"].setdefault("tasks", 0)
    return flow_of(content, (), WHERE)


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
