"""ATIF documents, written by hand after the published format."""

from pathlib import Path
from typing import Any

import pytest

from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Source, Usage
from tests.synth.importers.imports import read_document

TOOL = {
    "type": "function",
    "function": {"name": "read", "parameters": {"type": "object", "properties": {}}},
}
STEPS: list[dict[str, Any]] = [
    {"step_id": 1, "source": "system", "message": "Be brief."},
    {
        "step_id": 2,
        "source": "user",
        "message": [{"type": "text", "text": "What is in a and b?"}],
        "timestamp": "2026-03-01T10:00:00Z",
    },
    {
        "step_id": 3,
        "source": "agent",
        "message": "Reading.",
        "reasoning_content": "Two files.",
        "tool_calls": [
            {"tool_call_id": "c1", "function_name": "read", "arguments": {"path": "a"}},
            {"tool_call_id": "c2", "function_name": "read", "arguments": {}},
        ],
        "observation": {
            "results": [
                {"source_call_id": "c2", "content": "B"},
                {"source_call_id": "c1", "content": "A"},
            ]
        },
        "metrics": {
            "prompt_tokens": 50,
            "completion_tokens": 5,
            "cached_tokens": 10,
            "cost_usd": 0.25,
            "prompt_token_ids": [1, 2],
            "completion_token_ids": [3],
            "logprobs": [-0.5],
        },
    },
    {"step_id": 4, "source": "agent", "message": "A and B."},
]


def document(steps: Any = STEPS, **fields: Any) -> dict[str, Any]:
    agent = {"name": "coder", "version": "1.0", "model_name": "m-1", "tool_definitions": [TOOL]}
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": agent,
        "steps": steps,
        **fields,
    }


def agent_step(**fields: Any) -> dict[str, Any]:
    return {"step_id": 2, "source": "agent", "message": "x", **fields}


def test_steps_become_turns_with_parallel_calls_usage_and_token_ids(tmp_path: Path) -> None:
    (found,), bad = read_document(tmp_path, document())
    trajectory = found.trajectory
    first, second = trajectory.turns
    assert (bad, trajectory.system_prompt, found.task.goal, trajectory.model) == (
        [],
        "Be brief.",
        "What is in a and b?",
        "m-1",
    )
    assert (trajectory.outcome.value, trajectory.termination.value, trajectory.tools) == (
        "unknown",
        "unreported",
        (TOOL,),
    )
    assert (first.content, first.thought, first.usage) == (
        "Reading.",
        "Two files.",
        Usage(50, 5, 10, 1, 0.25),
    )
    assert [(c.call_id, c.name, c.arguments) for c in first.tool_calls] == [
        ("c1", "read", '{"path": "a"}'),
        ("c2", "read", "{}"),
    ]
    assert [(o.call_id, o.content) for o in first.observations] == [("c2", "B"), ("c1", "A")]
    assert (first.prompt_token_ids, first.completion_token_ids, first.logprobs) == (
        (1, 2),
        (3,),
        (-0.5,),
    )
    assert (second.content, trajectory.totals) == ("A and B.", Usage(50, 5, 10, 1, 0.25))


def test_the_older_name_of_the_cost_and_stated_totals_are_read(tmp_path: Path) -> None:
    (found,), _ = read_document(
        tmp_path, document([STEPS[0], agent_step(metrics={"prompt_tokens": 3, "cost": 0.5})])
    )
    assert found.trajectory.totals == Usage(3, 0, 0, 1, 0.5)
    final = {"total_prompt_tokens": 9, "total_completion_tokens": 2, "total_cost_usd": 0.75}
    (found,), _ = read_document(tmp_path, document([STEPS[0], agent_step()], final_metrics=final))
    assert found.trajectory.totals == Usage(9, 2, 0, 0, 0.75)


@pytest.mark.parametrize(
    ("fields", "mask", "tokens"),
    [
        ({"is_copied_context": True}, "copied_context", 0),
        ({"llm_call_count": 0, "metrics": None}, "no_model_call", 0),
        ({"llm_call_count": 3}, "several_model_calls", 7),
        ({"llm_call_count": 1}, None, 7),
    ],
)
def test_steps_that_are_not_one_call_of_this_run_carry_no_loss_and_copies_no_tokens(
    tmp_path: Path, fields: dict[str, Any], mask: str | None, tokens: int
) -> None:
    (found,), _ = read_document(
        tmp_path, document([STEPS[0], agent_step(**{"metrics": {"prompt_tokens": 7}, **fields})])
    )
    assert (found.trajectory.turns[0].mask, found.trajectory.totals.prompt_tokens) == (mask, tokens)


@pytest.mark.parametrize(
    ("extra", "mask"),
    [
        ({"synth": {"mask": "before_pivot"}}, "before_pivot"),
        ({"synth": "audio"}, None),
        ({"mask": "theirs"}, None),
    ],
)
def test_masks_that_synth_wrote_are_read_and_what_others_keep_in_extra_is_not(
    tmp_path: Path, extra: dict[str, Any], mask: str
) -> None:
    (found,), bad = read_document(tmp_path, document([STEPS[0], agent_step(extra=extra)]))
    assert (bad, found.trajectory.turns[0].mask) == ([], mask)


def test_results_without_a_call_id_are_linked_by_order_and_those_of_no_call_are_the_environments(
    tmp_path: Path,
) -> None:
    results = [{"source_call_id": "c2", "content": "B"}, {"content": "A"}, {"content": "disk full"}]
    (found,), _ = read_document(
        tmp_path, document([*STEPS[:2], {**STEPS[2], "observation": {"results": results}}])
    )
    assert [(o.source, o.call_id, o.content) for o in found.trajectory.turns[0].observations] == [
        (Source.TOOL, "c2", "B"),
        (Source.TOOL, "c1", "A"),
        (Source.ENVIRONMENT, None, "disk full"),
    ]


def test_sub_agents_are_trajectories_and_what_they_told_their_parent_is_marked_as_unseen(
    tmp_path: Path,
) -> None:
    inner = document(
        [{"step_id": 1, "source": "user", "message": "Look for c."}, agent_step(message="No c.")],
        trajectory_id="t1",
    )
    results = [{"source_call_id": "c1", "subagent_trajectory_ref": [{"trajectory_id": "t1"}]}]
    outer = document(
        [*STEPS[:2], {**STEPS[2], "observation": {"results": results}}, STEPS[3]],
        subagent_trajectories=[inner, inner],
    )
    good, bad = read_document(tmp_path, outer)
    assert (bad, [str(f.trajectory.source).split(":")[2] for f in good]) == (
        [],
        ["line1", "line1/subagent_trajectories/0", "line1/subagent_trajectories/1"],
    )
    assert [(f.task.env, f.task.goal) for f in good[:2]] == [
        ("atif/coder", "What is in a and b?"),
        ("atif/coder/subagent", "Look for c."),
    ]
    assert [t.mask for t in good[0].trajectory.turns] == [None, "after_unseen_content"]
    assert len({f.trajectory.trajectory_id for f in good}) == 3
    assert good[1].trajectory.content_hash == good[2].trajectory.content_hash


def test_turns_after_an_image_carry_no_loss(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}
    user = {"step_id": 1, "source": "user", "message": [{"type": "text", "text": "See:"}, image]}
    (found,), _ = read_document(tmp_path, document([user, agent_step()]))
    assert to_messages(found.trajectory)[0]["content"] == "See:\n[image left out on import]"
    assert found.trajectory.turns[0].mask == "after_unseen_content"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (document(schema_version="ATIF-v2.0"), "unsupported_version"),
        (document([]), "no_turns"),
        (document(STEPS[:2]), "no_turns"),
        (document([STEPS[0], {**STEPS[3], "step_id": 4}]), "bad_record"),
        (document([{**STEPS[0], "source": "robot"}]), "bad_record"),
        (document([{**STEPS[0], "message": 7}]), "bad_record"),
        (document(agent="coder"), "bad_record"),
        (
            document(
                [
                    agent_step(
                        step_id=1,
                        tool_calls=[{"tool_call_id": "c", "function_name": "f", "arguments": "{}"}],
                    )
                ]
            ),
            "bad_record",
        ),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, value: dict[str, Any], reason: str) -> None:
    good, bad = read_document(tmp_path, value)
    assert (good, [r.reason for r in bad]) == ([], [reason])
