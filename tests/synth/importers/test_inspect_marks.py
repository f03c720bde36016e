"""Samples of Inspect: what carries no loss, benchmarks, bare samples, what cannot be used."""

from pathlib import Path
from typing import Any

import pytest

from synth.schemas.trajectory import SampledBy
from tests.synth.importers.imports import read_document
from tests.synth.importers.inspect_samples import log, sample


def test_what_the_model_did_not_write_or_show_carries_no_loss(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "4", "source": "input"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And this?"},
                {"type": "image", "image": "data:image/png;base64,AA=="},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "name": "web_search"}, {"type": "text", "text": "9"}],
        },
        {"role": "assistant", "content": "10"},
    ]
    (found,), _ = read_document(tmp_path, log(sample(messages=messages, events=[])))
    turns = found.trajectory.turns
    assert [t.mask for t in turns] == [
        "dataset_input",
        "provider_run",
        *2 * ["after_unseen_content"],
    ]
    assert (turns[0].sampled_by, turns[0].observations[0].content) == (
        SampledBy.CANNED,
        "And this?\n[image left out on import]",
    )


@pytest.mark.parametrize(
    ("about", "benchmark"),
    [
        ({"task": "gaia_level1"}, "gaia_level1/dev"),
        ({"task": "SWE_bench_verified"}, "SWE_bench_verified/dev"),
        ({"task": "mine/tea", "task_registry_name": "mine/tea"}, None),
        ({"task": "drop_orders", "dataset": {"location": "orders.jsonl"}}, None),
        ({"task": "ours", "dataset": {"location": "openai/gsm8k"}}, "ours/dev"),
        ({"task": "ours", "dataset": {"location": "example://popularity"}}, "ours/dev"),
        ({"task": "sums", "task_registry_name": "inspect_evals/sums"}, "sums/dev"),
        ({}, None),
    ],
)
def test_an_evaluation_is_a_benchmark_where_it_is_a_public_one(
    tmp_path: Path, about: dict[str, Any], benchmark: str | None
) -> None:
    told = {"model": "m-1", "task_args": {"split": "dev"}, **about}
    (found,), bad = read_document(tmp_path, log(sample(), eval=told))
    assert (bad, found.task.benchmark, found.trajectory.benchmark) == ([], benchmark, benchmark)


def test_a_bare_sample_of_an_unpacked_eval_file_comes_in_without_its_header(tmp_path: Path) -> None:
    (found,), bad = read_document(tmp_path, sample(output={"model": "m-2"}))
    assert (bad, found.trajectory.model, found.trajectory.benchmark) == ([], "m-2", None)


@pytest.mark.parametrize(
    ("value", "rejections"),
    [
        (log(), ["no_samples"]),
        (log(samples=None), ["no_samples"]),
        (log(sample(), version=1), ["unsupported_version"]),
        (log(sample(messages=[], events=[])), ["no_turns"]),
        (log(sample(limit={"type": "moon"})), ["bad_record"]),
        (log(7, {"id": 1}), ["bad_record", "bad_record"]),
        (log(eval={"task": 3}), ["bad_record"]),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, value: dict[str, Any], rejections: list[str]
) -> None:
    good, bad = read_document(tmp_path, value)
    assert (good, [r.reason for r in bad]) == ([], rejections)
