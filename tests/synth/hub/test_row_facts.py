"""What is counted in the rows themselves, and that every text in them is looked at."""

import pyarrow as pa

from synth.hub.row_facts import RowFacts, texts_of


def batch(**columns: list[object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_a_pair_is_written_by_a_script_where_either_side_is() -> None:
    facts = RowFacts()
    facts.take(
        batch(
            chosen_authorship=["model", "scripted", "model", None],
            rejected_authorship=["scripted", "scripted", "model", "model"],
        )
    )
    assert (facts.rows, facts.scripted) == (4, 2)


def test_benchmarks_and_held_out_tasks_are_counted_by_name_over_all_batches() -> None:
    facts = RowFacts()
    facts.take(
        batch(
            benchmark=["tau-bench/test", None],
            split=["train", None],
            gold_informed=[True, False],
            synthesizer=["rollout"] * 2,
        )
    )
    facts.take(
        batch(
            benchmark=[None, ""],
            split=["test", "held_out"],
            gold_informed=[None, True],
            synthesizer=["rollout", "reflect_retry"],
        )
    )
    assert facts.benchmarks == {"tau-bench/test": 1}
    assert facts.held_out == {"test": 1, "held_out": 1}
    assert facts.gold_informed == 2
    assert facts.composition["synthesizer"] == {"rollout": 3, "reflect_retry": 1}


def test_trajectories_keep_the_order_of_the_rows_and_come_once() -> None:
    facts = RowFacts()
    facts.take(batch(trajectory_id=["b", "a", "b", None]))
    assert list(facts.identities) == ["b", "a"]


def test_every_text_of_a_row_is_found_however_deep_it_lies() -> None:
    json = pa.array(['{"content": "in json"}'], pa.string()).cast(pa.json_())
    found = pa.RecordBatch.from_arrays(
        [
            pa.array(["plain"]),
            pa.array([[{"reason": "in a struct", "turn": 1}]]),
            pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), json),
            pa.array([[["nested"], []]]),
            pa.array([7]),
            pa.array([None], pa.string()),
        ],
        names=["text", "masked", "messages", "lists", "number", "empty"],
    )
    assert set(texts_of(found)) == {
        ("text", "plain"),
        ("masked", "in a struct"),
        ("messages", '{"content": "in json"}'),
        ("lists", "nested"),
    }
