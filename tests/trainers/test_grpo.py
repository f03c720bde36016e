"""TRL's GRPOTrainer on exported tasks: it calls the tools of the world, and its rewards are those
of the world's own check.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from synth.flows.environments import open_env
from synth.rl.episode import RlEpisode
from synth.rl.trl import RlEnvironment
from tests.trainers.printed import code_under, losses, trained

pytestmark = pytest.mark.slow
RL = "RL: tasks, and the environment that trainers call"
SHORT = {"num_generations": 4, "per_device_train_batch_size": 4}


@pytest.fixture(scope="module")
def taught(echo: Path, echo_student: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small student, after SFT on the exported rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("sft"))
        settings = {"max_steps": 240, "per_device_train_batch_size": 4}
        rates = {"learning_rate": 0.004, "lr_scheduler_type": "cosine", "warmup_steps": 20}
        trainer = trained(code_under("SFT"), echo_student, echo, **settings, **rates)["trainer"]
    assert losses(trainer)[-1] < 0.1
    folder = tmp_path_factory.mktemp("taught")
    trainer.save_model(str(folder))
    return folder


@pytest.mark.nightly
def test_a_student_that_sft_taught_calls_the_tools_and_is_rewarded_for_the_right_calls_alone(
    echo: Path, taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the world was told to do is written down beside the reward, which is 1 for "echo the
    word, finish" and for nothing else.
    """
    episodes: list[tuple[str, list[tuple[str, str]], float]] = []
    reward = RlEpisode.reward

    async def written_down(episode: RlEpisode) -> float:
        given = await reward(episode)
        assert episode.task is not None
        calls = [
            (call.name, str(call.parsed().get("text")))
            for turn in episode.turns
            for call in turn.tool_calls
        ]
        episodes.append((episode.task.goal.rpartition(": ")[2], calls, given))
        return given

    monkeypatch.setattr(RlEpisode, "reward", written_down)
    made = played(
        code_under(RL),
        taught,
        echo,
        tmp_path,
        max_steps=6,
        max_completion_length=400,
        temperature=1.0,
    )
    trainer = made["trainer"]
    history = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(history) == 6
    assert max(entry["tools/call_frequency"] for entry in history) >= 1
    assert len(episodes) == 6 * SHORT["num_generations"]
    assert 1.0 in {given for _, _, given in episodes}
    for word, calls, given in episodes:
        assert given == float(calls == [("echo", word), ("finish", "None")])
    means = [sum(given for _, _, given in episodes[at : at + 4]) / 4 for at in range(0, 24, 4)]
    assert [entry["rewards/echo/mean"] for entry in history] == pytest.approx(means)
    assert_prompts_are_shown_as_the_rollouts_were(trainer, made["tasks"])


def assert_prompts_are_shown_as_the_rollouts_were(trainer: Any, tasks: Any) -> None:
    """The prompt as TRL tokenizes it: system prompt, goal, and the schemas as in the row, in their
    order.
    """
    row = tasks[0]
    trainer._batch_environments = [row["environment"]]
    (ids,), _, _ = trainer._tokenize_prompts([row["prompt"]])
    tokenizer = trainer.processing_class
    plain = {
        "add_generation_prompt": True,
        "tokenize": False,
        "chat_template": trainer.chat_template,
    }
    assert tokenizer.decode(ids) == tokenizer.apply_chat_template(
        row["prompt"], tools=row["tool_schemas"], **plain
    )


def test_a_random_student_trains_some_steps_at_the_storefront_without_a_reward(
    storefront: Path, student: Path, tmp_path: Path
) -> None:
    made = played(
        code_under(RL), student, storefront, tmp_path, max_steps=2, max_completion_length=16
    )
    history = [entry for entry in made["trainer"].state.log_history if "reward" in entry]
    assert [entry["reward"] for entry in history] == [0.0, 0.0]


def played(code: str, student: Path, data: Path, folder: Path, **settings: Any) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        code = re.sub(r", max_completion_length=\d+", "", code)
        return trained(code, student, data, **SHORT, **settings)


def test_the_printed_loop_for_any_other_trainer_plays_every_task(
    echo: Path, student: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def next_call(messages: list[dict[str, Any]], tools: Any) -> dict[str, Any] | None:
        words = messages[1]["content"].rpartition(": ")[2].split()
        done = sum(message["role"] == "tool" for message in messages)
        if done == len(words):
            return {"name": "finish", "arguments": {}}
        return {"name": "echo", "arguments": {"text": words[done]}}

    code = code_under(RL, 1).replace('"data/', f'"{echo}/')
    exec(compile(code, "docs/training.md", "exec"), {"next_call": next_call})
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 4
    assert all(line.endswith(" 1.0") for line in said)


def test_an_environment_needs_no_trainer(echo: Path) -> None:
    import datasets

    environment = RlEnvironment(open_env)
    (first, *_) = datasets.load_dataset(str(echo / "rl"), split="train")
    assert environment.reset(first) == first["prompt"]
    assert [dict(tool) for tool in environment.tools] == first["tool_schemas"]
