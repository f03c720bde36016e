"""Names and settings in a flow, bound to parts: what is wrong is told with its place and what is
allowed there.
"""

import sys
from pathlib import Path
from typing import Any

import pytest

from synth.flows.own.bindings import Bindings, SaidByUser
from synth.flows.parts import look_also_in, part, world
from synth.flows.resolve import resolve
from synth.schemas.errors import ConfigError, FlowError
from tests.flow_files import echo_flow

MODEL = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, as the one that holds a flow file is."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    look_also_in(tmp_path)
    return tmp_path


def refusal(**changes: Any) -> str:
    with pytest.raises(FlowError) as caught:
        resolve(echo_flow(**changes))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def said(name: str) -> Bindings:
    """What a flow of the user's own binds that names this world."""
    return Bindings({name: SaidByUser(name)})


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"env": {"name": "nowhere"}},
            "env.name: unknown world 'nowhere'; known: echo, mcp, repo, sql, sql_file, storefront, "
            "tau2, textworld, or your own as package.module:attribute",
        ),
        (
            {"env": {"name": "json:dumps"}},
            "env.name: world 'json:dumps' is of type function, not a ToolEnv or a "
            "synth.envs.world.EnvEntry",
        ),
        (
            {"env": {"name": "echo", "task": 3}},
            "env.task is not a setting; allowed: blocking_ms, difficulty, drift_at_turn, "
            "fail_at_turn, hang_at_turn, name, payload_bytes, "
            "raise_in_check, step_ms, tasks, turns",
        ),
        ({"env": {"name": "echo", "turns": "x"}}, "env.turns: must be a whole number"),
        (
            {"models": {"explorer": {}}},
            "models.explorer: name a `policy` (chat, expert, mixture, random) or a `model`",
        ),
        (
            {"models": {"explorer": {"policy": "nobody"}}},
            "models.explorer.policy: unknown policy 'nobody'; known: chat, ",
        ),
        (
            {"models": {"explorer": {"policy": "expert", "profile": "x"}}},
            "models.explorer.profile is not a setting; allowed: model, policy, profiles",
        ),
        (
            {"models": {"explorer": {"policy": "mixture", "of": [{"policy": "expert"}]}}},
            "models.explorer.of: must have at least 2 entries",
        ),
        (
            {
                "models": {
                    "explorer": {
                        "policy": "mixture",
                        "of": [{"policy": "expert"}, {"policy": "expert", "x": 1}],
                    }
                }
            },
            "models.explorer: policy mixture: of[1].x is not a setting",
        ),
        (
            {"models": {"explorer": MODEL | {"temperature": "warm"}}},
            "models.explorer.temperature: must be a number",
        ),
        (
            {"models": {"explorer": {"policy": "json:dumps"}}},
            "models.explorer: policy 'json:dumps': TypeError: ",
        ),
        ({"stages": [{"rollout": {"trials": 0}}]}, "stages[0].rollout.trials: must be at least 1"),
        (
            {"stages": [{"rollout": {"trials": 10**12}}]},
            "stages[0].rollout.trials: must be at most 10000",
        ),
        (
            {"stages": [{"rollout": 3}]},
            "stages[0].rollout: must be a mapping of settings; allowed: ask_twice, limits, live, "
            "role, shard, trials",
        ),
        (
            {"stages": [{"rollout": {"role": "nobody"}}]},
            "stages[0].rollout: rollout needs the role 'nobody'",
        ),
        (
            {
                "models": {"user": MODEL},
                "stages": [{"rollout": {"role": "user"}}],
                "env": {"name": "storefront", "tasks": 1},
            },
            "stages[0].rollout: role: 'user' plays the user of the world, not its agent; name a "
            "role of its own, such as explorer",
        ),
        ({"stages": [{"filter": ["solvd"]}]}, "stages[0].filter: unknown filter 'solvd'; known: "),
        (
            {"stages": [{"filter": [{"solved": {"x": 1}}]}]},
            "stages[0].filter.solved.x is not a setting; allowed: none",
        ),
        ({"stages": ["rolout"]}, "stages[0]: unknown stage 'rolout'; known: "),
    ],
)
def test_the_place_and_what_is_allowed_there_are_named(changes: dict[str, Any], line: str) -> None:
    assert refusal(**changes).startswith(line)


def test_a_models_typo_lists_the_models_and_the_policys_keys() -> None:
    line = refusal(models={"explorer": MODEL | {"max_inflight": 3}})
    assert line.startswith("models.explorer.max_inflight is not a setting; allowed: ")
    assert {"max_in_flight", "policy", "send_thoughts", "model", "base_url"} <= set(
        line.partition("allowed: ")[2].split(", ")
    )


def test_more_episodes_than_fit_into_memory_are_refused_before_anything_is_made() -> None:
    line = refusal(
        env={"name": "echo", "tasks": 1_000_000}, stages=[{"rollout": {"trials": 10_000}}]
    )
    assert line.startswith(
        "stages[0].rollout: 1,000,000 tasks x 10,000 trials are 10,000,000,000 episodes"
    )


@pytest.mark.parametrize(
    "name",
    [
        "::",
        ":",
        "a:",
        ":a",
        "a::b",
        "a..b:c",
        ".a:b",
        "..:x",
        "../x:y",
        "/etc/passwd:x",
        "a b:c",
        "a:b:c",
        "a\0:b",
        "",
    ],
)
@pytest.mark.parametrize("kind", ["world", "filter", "policy", "stage"])
def test_names_that_no_module_can_have_are_unknown_names(kind: str, name: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown {kind} "):
        part(kind, name, {"echo": "synth.envs.echo:WORLD"})


def test_a_module_beside_the_flow_is_found_and_an_absent_one_says_where_it_was_looked_for(
    mine: Path,
) -> None:
    (mine / "beside_the_flow.py").write_text("from synth.envs.echo import WORLD\n")
    assert world("beside_the_flow:WORLD").spec.name == "echo"
    with pytest.raises(
        ConfigError,
        match=rf"cannot import absent_module: it is not installed, nor in .*{mine.name}",
    ):
        world("absent_module:WORLD")
    with pytest.raises(
        ConfigError, match=r"beside_the_flow has no WORDL \(it is .*beside_the_flow\.py\)"
    ):
        world("beside_the_flow:WORDL")


@pytest.mark.parametrize(
    ("name", "source", "line"),
    [
        ("broken_syntax", "x = (\n", "SyntaxError: '(' was never closed (broken_syntax.py:1)"),
        (
            "broken_name",
            "\n\nx = undefined\n",
            "NameError: name 'undefined' is not defined (broken_name.py:3 in <module>)",
        ),
        (
            "broken_import",
            "\nimport absent_module_2\n",
            "No module named 'absent_module_2' (broken_import.py:2 in <module>)",
        ),
        ("broken_exit", "raise SystemExit(3)\n", "SystemExit: 3 (broken_exit.py:1 in <module>)"),
    ],
)
def test_what_is_wrong_inside_a_users_module_is_one_line_with_its_place(
    mine: Path, name: str, source: str, line: str
) -> None:
    (mine / f"{name}.py").write_text(source)
    assert (
        refusal(env={"name": f"{name}:WORLD"})
        == f"env.name: world '{name}:WORLD': cannot import {name}: {line}"
    )


@pytest.mark.parametrize("stage", ["reflect_retry", "failure_injection", "critical_step"])
@pytest.mark.parametrize(
    ("rollout", "said"),
    [
        ({"trials": 0}, ".trials: must be at least 1"),
        ({"limits": {"max_turns": "x"}}, ".limits.max_turns: must be a whole number"),
        (
            5,
            ": must be a mapping of settings; "
            "allowed: ask_twice, limits, live, role, shard, trials",
        ),
    ],
)
def test_a_broken_rollout_is_told_with_its_own_place_by_whatever_stage_takes_its_limits(
    stage: str, rollout: Any, said: str
) -> None:
    with pytest.raises(FlowError) as caught:
        resolve(echo_flow(stages=[{stage: {}}, {"rollout": rollout}]))
    assert str(caught.value) == f"stages[1].rollout{said}"


@pytest.mark.parametrize("stage", ["reflect_retry", "failure_injection", "critical_step"])
def test_episodes_that_go_on_from_a_roles_trials_have_the_limits_of_that_roles_rollout(
    stage: str,
) -> None:
    rollouts = [
        {"rollout": {"role": "teacher", "limits": {"max_turns": 7}}},
        {"rollout": {"limits": {"max_turns": 5}}},
    ]
    models = {"explorer": {"policy": "expert"}, "teacher": {"policy": "expert"}}
    _, stages = resolve(echo_flow(models=models, stages=[*rollouts, {stage: {}}]))
    assert stages[-1].settings["limits"]["max_turns"] == 5


def test_an_empty_flow_is_a_flow() -> None:
    assert resolve(echo_flow(env=None, stages=[]))[1] == []


def test_without_stages_a_world_makes_its_tasks() -> None:
    assert [stage.name for stage in resolve(echo_flow(stages=[]))[1]] == ["tasks"]
