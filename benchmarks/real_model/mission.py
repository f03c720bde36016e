"""`configs/full.yaml` over three worlds, small enough for a model of 135M parameters on two
cores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.command_line import ROOT
from benchmarks.real_model.served import NAME
from synth.schemas import read_yaml

FULL = ROOT / "configs" / "full.yaml"
DRAW = 5
"""The seed of every role's draws: with it a run writes the same tokens again on the same kind of
machine. Chosen: of the seeds 1 to 6 one left a role out and one two kinds of rows, and three asked
the skill writer, who is asked only where a second attempt succeeds. What a model does by luck is
told by all six (docs/models.md).
"""
GUIDED = {"max_tokens": 64, "extra_body": {"tool_choice": "required"}}
"""The explorer calls a tool in every turn, and the server holds its arguments to their schema."""


@dataclass(frozen=True)
class World:
    """One run of the flow: `stages` are settings in place of the file's, by stage; None leaves a
    stage out. Other tasks with another `seed`.
    """

    name: str
    env: Mapping[str, Any]
    stages: Mapping[str, Mapping[str, Any] | None]
    seed: int = 7


_TURNS = {"max_turns": 3}
_FEW_PLANTED = {"samples": 1, "scorer_planted": 3}
"""A coarse bound, of 30 harmless turns."""
_ONE_TRY = {"attempts": {"n": 1, "memo": True}, "per_task": 1}
_LARGE: Mapping[str, Mapping[str, Any] | None] = {
    "reverse_task": None,  # the storeroom's writer is asked in the same form
    "rollout": {"trials": 2, "limits": _TURNS, "ask_twice": False},
    "reflect_retry": _ONE_TRY,
    "critical_step": None,
    "failure_injection": {"per_task": 1, "repairs": 0},
    "rank_surprisal": None,
    "rubric": None,  # up to 3,000 tokens of log and rules a question
}
"""Worlds with long prompts."""
WORLDS = (
    World(
        "storeroom",
        {"name": "storeroom:Storeroom", "tasks": 5, "unsaid": 3},
        {
            # each walk fetches something or nothing, and a writer words it, in three tries
            "reverse_task": {"explorations": 3, "tasks": 1, "windows": 1},
            "rollout": {"trials": 2, "limits": _TURNS},
            "reflect_retry": {"attempts": {"n": 2, "memo": True}, "per_task": 1},
            "critical_step": {
                "proposals": {"per_trajectory": 1, "alternatives": 2, "samples": 4},
            },
            "failure_injection": {
                "per_task": 1,
                "strategies": {"role": 1},  # one solved trial, and the injector is asked
                "repairs": 1,
                "repair_rounds": 1,
            },
            "trajectory_reward": {"tasks": "all"},
            "leaks": {**_FEW_PLANTED, "calibrate": "always"},
        },
    ),
    World(
        "sql",
        {"name": "sql", "tasks": 1, "tables": 3, "plain": True, "kinds": ["question"]},
        _LARGE,
    ),
    World(
        "storefront",
        {"name": "storefront", "tasks": 1, "level": 0.0},
        # 4,400 tokens of policy and tools a prompt: as many seconds as all else, with two trials
        {
            **_LARGE,
            "rollout": {"trials": 1, "limits": {"max_turns": 2}, "ask_twice": False},
            "leaks": {"samples": 1, "scorer": None},
        },
    ),
)
AGAIN = replace(WORLDS[0], name="storeroom-again", seed=8)
"""Played only where a kind has no row: on another kind of machine the draws are others, a model
that solves a third of its trials leaves a kind out by luck now and then, and a defect does so
twice.
"""
EVERYWHERE: Mapping[str, Mapping[str, Any]] = {
    "leaks": _FEW_PLANTED,
    "rubric": {"samples": 1},
}


def settings(world: World, base_url: str) -> dict[str, Any]:
    """What stands in place of the file's own settings, as `synth.run` takes it."""
    flow = read_yaml(FULL.read_text(encoding="utf-8"), str(FULL))
    role = {"engine": "vllm", "model": NAME, "base_url": base_url, "temperature": 0.8, "seed": DRAW}
    role |= {"max_tokens": 96, "max_in_flight": 16, "timeout_s": 300.0}
    models = {name: dict(role) for name in flow["models"]}
    models["explorer"] |= GUIDED
    stages = _changed(flow["stages"], {**EVERYWHERE, **world.stages})
    name = f"real-{world.name}"
    return {
        "name": name,
        "seed": world.seed,
        "env": dict(world.env),
        "models": models,
        "stages": stages,
    }


def _changed(parts: Sequence[Any], given: Mapping[str, Mapping[str, Any] | None]) -> list[Any]:
    """Stages, or the filters of one, with other settings; without those that are left out."""
    changed = []
    for one in parts:
        ((name, own),) = one.items() if isinstance(one, dict) else [(one, {})]
        also = given.get(name, {})
        if also is not None:
            inner = _changed(own, given) if isinstance(own, list) else {**own, **also}
            changed.append({name: inner})
    return changed


def run_dir(folder: Path, world: World) -> Path:
    """Where a world's run lies."""
    return folder / world.name
