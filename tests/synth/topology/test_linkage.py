"""Complete linkage and what may never be one at level semantic, with similarities written by
hand.
"""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from synth.flows.resolve import resolve
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.trajectory import Observation, Turn
from synth.topology.embeddings import Vectors, missing
from synth.topology.keys import trajectory_keys
from synth.topology.of_task import task_rows
from synth.topology.semantic import Merges, complete_linkage, merges
from tests.synth.topology.trials import trial, turn

ANGLES = {"cheap red shoes": 0.0, "red cheap shoes": 20.0, "shoes, cheap, red": 40.0}
"""Degrees: cosines .94 between neighbours, .77 between the outer two."""


def embed(texts: Sequence[str]) -> Vectors:
    """Searches by their angle; all else points the same way."""
    angles = [
        next((angle for said, angle in ANGLES.items() if said in text), 0.0) for text in texts
    ]
    return np.array(
        [[np.cos(np.radians(angle)), np.sin(np.radians(angle))] for angle in angles], np.float32
    )


def merged(*searches: str, **others: object) -> Merges:
    trials = [
        trial(f"T{at}", [turn(0, "search", **{"for": said})], True, **others)
        for at, said in enumerate(searches)
    ]
    return merges([(one, trajectory_keys(one)) for one in trials], embed)


def test_two_texts_join_where_every_pair_of_the_cluster_reaches_the_threshold() -> None:
    similarity = np.array(
        [[1, 0.95, 0.5, 0.2], [0.95, 1, 0.92, 0.2], [0.5, 0.92, 1, 0.2], [0.2, 0.2, 0.2, 1]]
    )
    assert complete_linkage(similarity, 0.9) == [[0, 1], [2], [3]]  # 2 is near 1 but far from 0
    assert complete_linkage(similarity, 0.5) == [[0, 1, 2], [3]]


def test_equal_similarities_join_the_pair_that_stands_first() -> None:
    similarity = np.array([[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]])
    assert complete_linkage(similarity, 0.9) == [[0, 1], [2]]


def test_a_merge_tells_its_similarity_and_the_least_of_its_node() -> None:
    found = merged("cheap red shoes", "red cheap shoes").by_turn
    assert {(one.similarity, one.least) for one in found.values()} == {
        (1.0, 0.9397),
        (0.9397, 0.9397),
    }  # cos 20 degrees
    assert len({one.node for one in found.values()}) == 1


def test_the_order_of_the_trials_changes_nothing() -> None:
    searches = [*ANGLES, "red cheap shoes "]
    expected = merged(*searches)
    for seed in range(5):
        assert merged(*Random(seed).sample(searches, len(searches))) == expected


def test_numbers_codes_names_tools_errors_and_denials_are_never_merged() -> None:
    turns = {
        "number": turn(0, "search", "order 17 was found"),
        "other number": turn(0, "search", "order 18 was found"),
        "other tool": turn(0, "look", "order 17 was found"),
        "denied": turn(0, "search", "order 17 was not found"),
        "other world": turn(0, "search", "order 17 was found!", state="after"),
    }
    turns |= {
        "city": Turn(0, content="You fly to Boston tonight."),
        "other city": Turn(0, content="You fly to Denver tonight."),
        "origin": turn(0, "search", "[]", origin="LAX", to="LAS"),
        "other origin": turn(0, "search", "[]", origin="ATL", to="LAS"),
        "name": turn(0, "search", "it was sent to Anna today"),
        "other name": turn(0, "search", "it was sent to Berta today"),
        "row": turn(0, "look", '{"status": "paid", "note": "as asked for"}'),
        "other": turn(0, "look", '{"status": "open", "note": "as asked for"}'),
    }
    failed = Turn(
        0,
        tool_calls=turns["number"].tool_calls,
        observations=(Observation("order 17 was seen", error=True),),
    )
    trials = [trial(name, [one], True) for name, one in {**turns, "failed": failed}.items()]
    assert merges([(one, trajectory_keys(one)) for one in trials], embed).by_turn == {}


def test_long_answers_are_compared_to_their_end() -> None:
    def told(last: str) -> str:
        return "a " * 400 + last

    trials = [
        trial(last, [turn(0, "search", told(last))], True)
        for last in ("cheap red shoes", "shoes, cheap, red")
    ]
    assert merges([(one, trajectory_keys(one)) for one in trials], embed).by_turn == {}


def test_the_rows_of_a_task_say_which_turns_were_merged_and_why() -> None:
    trials = [
        trial(f"T{at}", [turn(0, "search", **{"for": said})], not at)
        for at, said in enumerate(list(ANGLES)[:2])
    ]
    rows = task_rows(
        "t",
        trials,
        level="semantic",
        merging=lambda keyed: merges(keyed, embed),
    )
    told = {score.subject_id: score for score in rows.scores if score.metric == "merged"}
    assert {score.turn for score in told.values()} == {0}
    (first,) = (
        name for name, score in told.items() if score.value == 1.0
    )  # the text that the node's others are compared with
    assert [score.detail and score.detail["with"] for score in told.values()] == [
        {"trajectory_id": first, "turn": 0}
    ] * 2
    assert [node.n for node in rows.nodes if node.tools] == [2]


@pytest.mark.skipif(missing() is None, reason="the extra embed is installed")
def test_a_flow_that_asks_for_it_without_the_extra_is_told_what_to_install() -> None:
    with pytest.raises(
        ConfigError,
        match=r"stages\[0\].topology.level: .* not installed; pip install -c constraints.txt -e "
        r"'.\[embed\]'",
    ):
        resolve(
            Flow.model_validate({"name": "f", "stages": [{"topology": {"level": "semantic"}}]}),
            collect=False,
        )
