"""What roles could not read is counted, with examples, at the end of a run and in the report; so
are refusals, and equal prompts that a model answered in two ways.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from synth.engine.runs.summary import summary_lines
from synth.report.browser.stand_ins import StandIns
from synth.report.sections import roles
from tests.flow_files import echo_flow, model_flow, run_flow
from tests.synth.models.chat_brains import Body, Brain, called, echo_expert
from tests.synth.models.chat_server import ChatServer


def judged(body: Body) -> dict[str, Any]:
    """A judge that answers, answers loosely, says something else, or refuses, by the task."""
    goal = next(one["content"] for one in body["messages"] if one["role"] == "user")
    texts = (
        '{"reason": "r", "reward": 3}',
        "{'reason': 'r', 'reward': 3,}",
        "about <b>three</b>",
        "I'm sorry, but I can't help with that.",
    )
    goals.setdefault(goal, texts[len(goals) % 4])
    return {"role": "assistant", "content": goals[goal]}


goals: dict[str, str] = {}


def test_the_report_counts_questions_by_role_and_shows_what_could_not_be_read(
    tmp_path: Path,
) -> None:
    goals.clear()
    with ChatServer(judged) as server:
        models = {
            "explorer": {"policy": "expert"},
            "judge": {"model": "test", "base_url": server.url},
        }
        stages = [{"rollout": {"trials": 1}}, {"trajectory_reward": {"tasks": "all"}}]
        env = {"name": "echo", "tasks": 4, "turns": 3}
        flow = echo_flow(models=models, stages=stages, env=env)
        ran, reports, _ = run_flow(flow, str(tmp_path))

    told = dict(summary_lines(ran, reports))
    assert told["judge"] == (
        "of 4 questions (trajectory_reward) 1 could not be read and 1 were refused"
    )
    html = roles.render(ran.ledger, StandIns())
    assert html is not None
    cells = re.findall(r"<td[^>]*>([^<]*)", html)
    assert cells[:7] == ["judge", "trajectory_reward", "4", "1", "1", "1", "1"]
    assert "about &lt;b&gt;three&lt;/b&gt;" in html


def lines(folder: Path, brain: Brain, **model: Any) -> dict[str, str]:
    """The closing lines of a run of the echo world, every task twice."""
    with ChatServer(brain) as server:
        stages = [{"rollout": {"trials": 2, "limits": {"max_turns": 3}}}]
        flow = model_flow(server.url, model=model, stages=stages)
        ran, reports, _ = run_flow(flow, str(folder))
    return dict(summary_lines(ran, reports))


def drawing() -> Brain:
    drawn = iter(range(1000))
    return lambda body: called("echo", {"text": f"{next(drawn)}"})


@pytest.mark.slow
def test_a_server_that_draws_at_temperature_0_is_told(tmp_path: Path) -> None:
    told = lines(tmp_path / "draws", drawing(), temperature=0)
    assert re.fullmatch(
        r"test answered (\d+) of \1 equal prompts differently at temperature 0: it samples",
        told["sampling"],
    )
    assert "sampling" not in lines(tmp_path / "warm", drawing(), temperature=0.5)
    assert "sampling" not in lines(tmp_path / "same", echo_expert, temperature=0)


def test_refused_trials_are_counted(tmp_path: Path) -> None:
    sorry = {"role": "assistant", "content": "I'm sorry, but I can't help with that."}
    told = lines(tmp_path, lambda body: sorry)
    assert "ended by a refusal of the model" in told["refused"]
