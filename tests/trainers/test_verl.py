"""verl 0.9.1: the commands that the cards print through its own configuration, its own data sets
and agent loops over our rows, on CPU.
"""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.envs.echo import WORLD as ECHO
from synth.envs.storefront import WORLD as STOREFRONT
from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.exporters.registry import form_of
from synth.exporters.template import served_template
from synth.flows.environments import bindings_of
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from tests.synth.pairs.planted import planted
from tests.synth.recording import recorded
from tests.trainers.conftest import exported
from tests.trainers.loaders import run_loader, words_of
from tests.trainers.spoken import of, spoken, written

pytestmark = pytest.mark.slow


def printed(kind: str, folder: Path) -> list[str]:
    """What the card's command says to verl."""
    block = re.search(r"```\n(.*?)```", form_of(kind, "verl").training(str(folder)), re.DOTALL)
    assert block is not None
    return words_of(block[1])


def rows_of(folder: Path) -> list[dict[str, Any]]:
    import datasets

    return list(datasets.load_dataset(str(folder), split="train"))


def labels(folder: Path, student: Path, template: str, scratch: Path) -> list[dict[str, Any]]:
    """As verl's SFT trainer makes them, under the template that the student is served with."""
    (scratch / "chat.jinja").write_text(served_template(template).source, encoding="utf-8")
    arguments = [str(student), str(scratch / "chat.jinja"), *printed("sft", folder)]
    made: list[dict[str, Any]] = run_loader("verl_labels.py", *arguments, scratch=scratch)
    return made


def test_sft_loss_is_on_the_trained_turns_token_by_token(
    storefront: Path, student: Path, tmp_path: Path
) -> None:
    """Of Qwen 2.5: turns with several calls, several answers in a row, tool schemas included; a
    line break at either end is not loss.
    """
    exported(str(storefront / "run"), tmp_path, ("sft",), form="verl", include_scripted=True)
    template, form = of("trl:qwen2_5", student), form_of("sft", "verl")
    assert template.tokenizer is not None
    made = labels(tmp_path / "sft", student, "trl:qwen2_5", tmp_path)
    rows = rows_of(tmp_path / "sft")
    assert len(made) == len(rows) > 20
    side_by_side = 0
    for row, found in zip(rows, made, strict=True):
        assert form.read is not None
        chat = form.read(row)
        text, spans = template.spans(chat.messages, chat.tools)
        tokens = template.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        lit = [(spans[turn][0] + 1, spans[turn][1] - 1) for turn in chat.trained]
        assert {text[spans[turn][0]] + text[spans[turn][1] - 1] for turn in chat.trained} == {
            "\n\n"
        }
        assert found["input_ids"] == tokens["input_ids"]
        assert found["loss_mask"] == [
            int(any(start <= first and last <= end for start, end in lit))
            for first, last in tokens["offset_mapping"]
        ]
        side_by_side += any(len(message.get("tool_calls", ())) > 1 for message in chat.messages)
    assert side_by_side > 5, "verl's own class stops at such rows"


CALL = (
    '<tool_call>\n{"name": "find", "arguments": {"q": "ß \\" <tool>", "n": 2, "none": null, '
    '"deep": {"a": [0.3, {}]}}}\n'
    "</tool_call><|im_end|>"
)
BOTH = (
    '<tool_call>\n{"name": "find", "arguments": {"q": "b"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "ship", "arguments": {}}\n</tool_call><|im_end|>'
)


def trained(made: dict[str, Any], student: Path) -> str:
    """The text of the tokens that carry loss."""
    tokenizer = of("trl:qwen3", student).tokenizer
    assert tokenizer is not None
    return str(
        tokenizer.decode(
            [
                token
                for token, loss in zip(made["input_ids"], made["loss_mask"], strict=True)
                if loss
            ]
        )
    )


@pytest.mark.parametrize(
    ("template_name", "before_the_last"),
    [("trl:qwen2_5", ""), ("trl:qwen3", "<think>\n\n</think>\n\n")],
)
def test_masked_turns_carry_no_loss_and_nothing_is_filled_with_null(
    student: Path, tmp_path: Path, template_name: str, before_the_last: str
) -> None:
    """Qwen 3 renders the last turn otherwise than turns in the middle: what is served is what is
    trained on.
    """
    assert (
        written(
            tmp_path / "rows",
            spoken(thoughts=False, masked=True),
            spoken(thoughts=False),
            form="verl",
        ).rows
        == 2
    )
    made = labels(tmp_path / "rows", student, template_name, tmp_path)
    tokenizer, form = of(template_name, student).tokenizer, form_of("sft", "verl")
    assert tokenizer is not None
    assert form.read is not None
    for row, found in zip(rows_of(tmp_path / "rows"), made, strict=True):
        chat = form.read(row)
        assert tokenizer.decode(found["input_ids"]) == served_template(template_name).text(
            chat.messages, chat.tools
        )
        second = "" if row["trajectory_id"].endswith("-True") else BOTH
        assert (
            trained(found, student) == f"I look it up.\n{CALL}{second}There: 5 < "
            f"6.<|im_end|>{before_the_last}Bye.<|im_end|>"
        )


def test_where_thoughts_leave_the_prompt_later_whole_rows_stop_and_rows_per_turn_train(
    student: Path, tmp_path: Path
) -> None:
    """Qwen 3 shows the thoughts of turns before a user's word no more: what stood before the third
    turn is rendered otherwise after it.
    """
    written(tmp_path / "whole", spoken(thoughts=True), form="verl")
    (found,) = labels(tmp_path / "whole", student, "trl:qwen3", tmp_path)
    assert "export with `unroll: per_turn`" in found["error"]
    written(tmp_path / "turns", spoken(thoughts=True), form="verl", unroll="per_turn")
    empty = "<think>\n\n</think>\n\n"
    assert [
        trained(found, student)
        for found in labels(tmp_path / "turns", student, "trl:qwen3", tmp_path)
    ] == [
        f"<think>\nlook\nfirst\n</think>\n\nI look it up.\n{CALL}",
        empty + BOTH,
        empty + "There: 5 < 6.<|im_end|>",
        "<think>\nit is there\n</think>\n\nBye.<|im_end|>",
    ]


def turns_of(trajectory: Trajectory) -> list[str]:
    """What the model wrote, as Qwen writes calls."""
    written = []
    for turn in trajectory.turns:
        calls = [
            json.dumps({"name": call.name, "arguments": call.parsed()}, ensure_ascii=False)
            for call in turn.tool_calls
        ]
        said = [turn.content] if turn.content else []
        written.append(
            "\n".join([*said, *(f"<tool_call>\n{call}\n</tool_call>" for call in calls)])
            + "<|im_end|>"
        )
    return written


def of_both_outcomes() -> list[tuple[Task, Trajectory]]:
    """Six solved and six failed trials of the storefront, each of a task of its own, told apart by
    their goals.
    """
    found: dict[Outcome, list[tuple[Task, Trajectory]]] = {Outcome.SUCCESS: [], Outcome.FAILURE: []}
    goals: set[str] = set()
    for trial, task in enumerate(bindings_of({}).make_tasks("storefront", {}, 5, 60)):
        if not any(goal.startswith(task.goal) or task.goal.startswith(goal) for goal in goals):
            trajectory = recorded(STOREFRONT, task.env_config, task, trial=trial)
            if len(found.get(trajectory.outcome, [None] * 6)) < 6:
                goals.add(task.goal)
                found[trajectory.outcome].append((task, trajectory))
    return found[Outcome.SUCCESS] + found[Outcome.FAILURE]


def test_episodes_in_verls_agent_loop_are_rewarded_as_the_ledger_says_and_a_fault_is_no_reward(
    student: Path, tmp_path: Path
) -> None:
    played = of_both_outcomes()
    (plain,) = bindings_of({}).make_tasks("echo", {"turns": 1}, 5, 1)
    (broken,) = bindings_of({}).make_tasks("echo", {"turns": 1, "fail_at_turn": 0}, 5, 1)
    breaks = msgspec.structs.replace(
        recorded(ECHO, {}, plain), task_id=broken.task_id, trajectory_id="breaks", slot_id="breaks"
    )
    (cut,) = bindings_of({}).make_tasks("echo", {"turns": 2}, 11, 1)
    aborts = msgspec.structs.replace(
        recorded(ECHO, {"turns": 2}, cut), trajectory_id="aborts", slot_id="aborts"
    )
    played = [
        (task, msgspec.structs.replace(one, slot_id=one.trajectory_id))
        for task, one in [*played, (cut, aborts), (broken, breaks)]
    ]
    ledger = planted(tmp_path, [one for _, one in played], [], tasks=[task for task, _ in played])
    export("rl", ledger, DatasetFolder(tmp_path / "rl"), RowSettings(form="verl"))
    script = [
        {"task_id": task.task_id, "goal": one.opening[0].content, "turns": turns_of(one)}
        for task, one in played
    ]
    script[-2]["turns"] = ["(aborts) half a wo"]
    (tmp_path / "script.json").write_text(json.dumps(script))

    arguments = [str(student), str(tmp_path / "script.json"), *printed("rl", tmp_path / "rl")]
    made = {
        one["task_id"]: one for one in run_loader("verl_episodes.py", *arguments, scratch=tmp_path)
    }

    assert len(made) == len(played) == 14
    assert len({one["index"] for one in made.values()}) == 14, (
        "verl counts rollouts of a prompt by it"
    )
    assert any(len(turn.tool_calls) > 1 for _, one in played for turn in one.turns)
    rows = {row["extra_info"]["task_id"]: row for row in rows_of(tmp_path / "rl")}
    served = served_template(str(student))
    for task, one in played[:-2]:
        found, row = made[task.task_id], rows[task.task_id]
        assert "reward" in found, found
        assert (found["reward"], found["outcome"]) == (
            float(one.outcome is Outcome.SUCCESS),
            one.outcome.value,
        )
        assert found["trained"] == "".join(turns_of(one))
        schemas = json.loads(row["extra_info"]["tool_schemas"])
        assert found["asked"][0] == served.text(row["prompt"], schemas, generation_prompt=True)
        answers = [
            o.content for turn in one.turns[:-1] for o in turn.observations if o.source == "tool"
        ]
        assert all(answer in found["asked"][-1] for answer in answers)
    fault, unfinished = made[broken.task_id], made[cut.task_id]
    assert not [one for one in (fault, unfinished) if "reward" in one]
    assert (
        "model: verl's server ended a turn by 'aborted'; gave up after 3 episodes"
        in unfinished["raised"]
    )
    assert "planned: echo fails at turn 0" in fault["raised"]
    assert "gave up after 3 episodes, and this rollout has no reward" in fault["raised"]
    assert fault["begun"] == 3
