"""A benchmark is a task, not a file format: made-up tasks in a public format are none, and public
tasks are known wherever their text stands.
"""

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.importers.identity.known import LEAST, benchmark_of, known
from synth.importers.identity.sketch import KEPT, runs, sketch
from synth.importers.records import Imported
from tests.synth.importers.imports import DATA, imported, needs_real_data, read_document, read_lines
from tests.synth.importers.shapes.dialogues import CHAT
from tests.synth.importers.test_tau2 import document, simulation

WORDS = st.lists(st.sampled_from([f"w{n}" for n in range(200)]), min_size=1, max_size=80)


def shop(**more: Any) -> dict[str, Any]:
    """A result of the tau2 harness from a private shop."""
    told = copy.deepcopy(document(simulation()))
    told["info"]["environment_info"] = {
        "domain_name": "shop",
        "policy": "Be kind to our customers.",
    }
    return {**told, **more}


def test_a_private_shop_in_the_harness_of_a_benchmark_is_no_benchmark(tmp_path: Path) -> None:
    (found,), bad = read_document(tmp_path, shop())
    assert bad == []
    assert (found.trajectory.benchmark, found.task.benchmark) == (None, None)


@pytest.mark.parametrize("instance", ["acme__shop-3", "getmoto__moto-5752"])
def test_an_instance_of_no_known_repository_is_of_no_known_set(
    tmp_path: Path, instance: str
) -> None:
    (found,), _ = read_document(
        tmp_path, {"instance_id": instance, "trajectory": CHAT, "patch": ""}
    )
    assert found.trajectory.benchmark is None


def test_an_instance_of_a_repository_of_swe_bench_is_stamped(tmp_path: Path) -> None:
    record = {"instance_id": "django__django-11099", "trajectory": CHAT, "patch": ""}
    (found,), _ = read_document(tmp_path, record)
    assert found.trajectory.benchmark == "swe-bench/test"


PUBLIC = {
    "tau1": "tau-bench/airline",
    "tau1_retail": "tau-bench/retail",
    "agentrx_tau": "tau-bench/retail",
    "tau2_airline": "tau2-bench/airline",
    "tau2_telecom": "tau2-bench/telecom",
    "whowhen_ag": "who-and-when/algorithm-generated",
}


@pytest.mark.slow
@needs_real_data
@pytest.mark.parametrize(("folder", "benchmark"), PUBLIC.items())
def test_public_tasks_are_known_by_their_text(folder: str, benchmark: str) -> None:
    found = [one for one in imported([DATA / folder]) if isinstance(one, Imported)]
    assert {one.trajectory.benchmark for one in found} == {benchmark}


@needs_real_data
def test_tasks_that_students_made_are_of_no_public_set() -> None:
    found = [one for one in imported([DATA / "tau2_es"]) if isinstance(one, Imported)]
    assert {one.trajectory.benchmark for one in found} == {None}
    assert len(found) == 101


@needs_real_data
def test_a_public_policy_in_a_plain_chat_is_known(tmp_path: Path) -> None:
    (path,) = (DATA / "tau2_domains" / "airline").glob("policy*")
    packed = path.read_bytes()
    text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    chat = [{"role": "system", "content": f"You are an agent.\n{text}"}, *CHAT[1:]]
    (found,), _ = read_document(tmp_path, chat)
    assert str(found.trajectory.benchmark).endswith("/airline")


@needs_real_data
def test_a_public_task_beside_a_plain_chat_is_known(tmp_path: Path) -> None:
    (path,) = (DATA / "tau2_retail").glob("*gpt-4.1_retail_def*")
    task = json.loads(gzip.decompress(path.read_bytes()))["tasks"][0]
    rows: list[dict[str, Any]] = [
        {"messages": CHAT[1:], "task": task},
        {"messages": CHAT[1:], "task": json.dumps(task)},
        {"messages": CHAT[1:], "task": {"id": task["id"], "instructions": "Swap a pot."}},
    ]
    found, _ = read_lines(tmp_path, rows)
    stamps = [one.trajectory.benchmark for one in found]
    assert stamps == ["tau2-bench/retail", "tau2-bench/retail", None]


@needs_real_data
def test_a_public_question_that_a_user_asks_in_a_plain_chat_is_known(tmp_path: Path) -> None:
    path = sorted((DATA / "whowhen_ag").rglob("*.json*"))[0]
    packed = path.read_bytes()
    run = json.loads(gzip.decompress(packed) if path.suffix == ".gz" else packed)
    asked = {"role": "user", "content": f"Please: {run['question']}"}
    (found,), _ = read_document(tmp_path, [asked, {"role": "assistant", "content": "4"}])
    assert str(found.trajectory.benchmark).startswith("who-and-when/")


def test_every_known_text_is_a_sketch_of_a_named_set() -> None:
    assert len(known()) > 500
    assert all(one.kind in ("task", "policy") and "/" in one.benchmark for one in known())
    assert all(0 < len(one.hashes) <= KEPT for one in known())


@given(WORDS, WORDS, WORDS)
def test_a_text_holds_its_own_sketch_wherever_it_stands(
    text: list[str], before: list[str], after: list[str]
) -> None:
    told = " ".join(text)
    around = " ".join([*before, *text, *after])
    if len(text) >= 5:  # a shorter text is hashed as a whole
        assert set(sketch(told)) <= runs(around)
    assert set(sketch(told)) <= runs(told.upper().replace(" ", "\n"))


@given(st.text(max_size=300))
def test_any_text_has_a_sketch_and_free_text_is_of_no_benchmark(text: str) -> None:
    assert set(sketch(text)) <= runs(text)
    assert benchmark_of(text, "task") is None
    assert 0 < LEAST <= 1
