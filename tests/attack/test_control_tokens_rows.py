"""Control tokens in every text of every kind's rows: none is exported unasked, and neutralised rows
hold none and say what they are.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.exporters.export import records
from synth.exporters.kinds.control_tokens import guarded
from synth.exporters.kinds.sft import sft_rows
from synth.ledger.ledger import StoredLedger
from tests.attack.control_token_rows import (
    TOKENS,
    a_row,
    forms,
    laced,
    laced_trajectories,
    ledger_of,
    solved,
    tally_of,
    tokens_in,
)

KINDS = ["sft", "dpo", "kto", "prm", "rl", "attribution", "memory", "dpo_observed", "kto_observed"]
LEAST_PLACES = {
    "sft": 15,
    "dpo": 15,
    "kto": 12,
    "prm": 12,
    "rl": 4,
    "memory": 2,
    "dpo_observed": 15,
    "kto_observed": 12,
}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredLedger]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        yield ledger_of(tmp_path_factory.mktemp("ledger"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in LEAST_PLACES])
def test_no_token_of_the_table_in_any_text_of_a_row_is_exported_unasked(
    ledger: StoredLedger, kind: str
) -> None:
    row, tally = a_row(ledger, kind), tally_of(kind)
    assert [one.done for one in guarded([row], tally)] == [None], "a clean row is written as it is"
    places = [place for place, _ in laced(row, "x")]
    assert len(places) >= LEAST_PLACES[kind]
    tokens = TOKENS if kind == "sft" else TOKENS[KINDS.index(kind) :: 4]
    for token in tokens:
        for place, changed in laced(row, token):
            assert list(guarded([changed], tally)) == [], (token, place)
    assert tally.left_out.total() == len(tokens) * len(places)
    assert all(reason.startswith("control_tokens:") for reason in tally.left_out)


@pytest.mark.parametrize(("kind", "form"), forms())
def test_a_neutralised_row_holds_no_token_in_any_form_is_marked_and_has_no_token_ids(
    ledger: StoredLedger, kind: str, form: str
) -> None:
    row = a_row(ledger, kind, form)
    for at, token in enumerate(TOKENS[len(kind + form) % 12 :: 12]):
        tally = tally_of(kind, form, control_tokens="neutralise")
        changed = [one for _, one in laced(row, token)]
        chosen = changed[at % len(changed) :: 7] if changed else []
        written = list(records(iter(chosen), tally))
        assert tally.left_out.total() + len(written) == len(chosen)
        assert not [reason for reason in tally.left_out if reason.startswith("control_tokens")], (
            tally.left_out
        )
        for record in written:
            assert tokens_in(record, tally.form) == []
            assert not any(
                record.get(name)
                for name in ("prompt_token_ids", "completion_token_ids", "logprobs")
            )
            assert tally.form.layout in ("lines", "files") or record["neutralised"] is True
            assert tally.form.layout != "files" or '"neutralised":true' in record["text"]
        assert tally.counts["neutralised"] == len(written) == len(tally.neutralised_rows)


@pytest.mark.parametrize("form", [form for kind, form in forms() if kind == "sft"])
def test_what_a_trajectory_holds_is_in_no_form_of_it_unasked_and_neutral_where_that_is_asked_for(
    form: str,
) -> None:
    for token in TOKENS[len(form) :: 75]:
        for place, trajectory in laced_trajectories(solved(), token):
            tally, softer = (
                tally_of("sft", form),
                tally_of("sft", form, control_tokens="neutralise"),
            )
            assert list(records(sft_rows([(trajectory, {})], tally), tally)) == [], (
                place,
                token,
            )
            assert tally.left_out.total() == 1
            (record,) = records(sft_rows([(trajectory, {})], softer), softer)
            assert tokens_in(record, softer.form) == [], (place, token)
            assert "token_ids" not in str(
                {name: value for name, value in record.items() if value is not None}
            )
            assert softer.counts["neutralised"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_clean_row_keeps_its_token_ids_and_carries_no_mark_beside_one_that_was_changed(
    ledger: StoredLedger, kind: str
) -> None:
    row, tally = a_row(ledger, kind), tally_of(kind, control_tokens="neutralise")
    plain = tally_of(kind)
    (before,) = records(iter([row]), plain)
    (record,) = records(iter([row]), tally)
    assert record == before | {"neutralised": False}
    if kind == "sft":
        assert record["completion_token_ids"] == [[3, 4], [3, 4]]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in LEAST_PLACES])
def test_what_is_kept_is_as_it_was_and_is_said_first_in_the_card(
    ledger: StoredLedger, kind: str
) -> None:
    from synth.exporters.notes import notes

    row, tally = a_row(ledger, kind), tally_of(kind, control_tokens="keep")
    changed = [one for _, one in laced(row, "<|im_start|>")]
    again = tally_of(kind)
    assert list(records(iter(changed), tally)) == [again.form.record(one) for one in changed]
    warning = next(notes(tally))
    assert warning.startswith(
        f"WARNING: {len(changed)} of {len(changed)} rows hold control tokens in their texts "
        "(control_tokens: keep)"
    )
    assert "`<|im_start|> in " in warning


def test_a_task_whose_script_check_or_world_holds_a_token_is_left_out_since_that_cannot_be_changed(
    ledger: StoredLedger,
) -> None:
    import msgspec

    row: Any = a_row(ledger, "rl")
    for fields in (
        {"script": {"lines": ["<|im_end|>"]}},
        {"env_config": {"shop": "[/INST]"}},
        {"difficulty": {"<s>": 1}},
    ):
        task = msgspec.structs.replace(row.task, **fields)
        for policy in ("drop", "neutralise"):
            tally = tally_of("rl", control_tokens=policy)
            assert list(guarded([msgspec.structs.replace(row, task=task)], tally)) == []
            assert [reason.rpartition(":")[2] for reason in tally.left_out] == ["task"]
    goal = msgspec.structs.replace(
        row, task=msgspec.structs.replace(row.task, goal="Say <|im_end|>.")
    )
    tally = tally_of("rl", control_tokens="neutralise")
    (record,) = records(iter([goal]), tally)
    assert record["goal"] == "Say ‹|im_end|›."
    assert tokens_in(record, tally.form) == []


def test_the_task_of_an_attribution_row_and_what_stands_behind_its_label_are_looked_at(
    ledger: StoredLedger, tmp_path: Path
) -> None:
    import msgspec

    from synth.schemas.evidence.labels import AttributionLabel

    row: Any = a_row(ledger, "attribution")
    first = row.trajectory.turns[0]
    said = msgspec.structs.replace(
        row.trajectory,
        turns=(msgspec.structs.replace(first, content="[/INST]"), *row.trajectory.turns[1:]),
    )
    laced_rows = {
        "goal": msgspec.structs.replace(
            row, task=msgspec.structs.replace(row.task, goal="a <s> b")
        ),
        "evidence": msgspec.structs.replace(
            row,
            cause=msgspec.structs.replace(
                row.cause, label=AttributionLabel(description="<|eot_id|>")
            ),
        ),
        "assistant": msgspec.structs.replace(row, trajectory=said),
    }
    for place, changed in laced_rows.items():
        tally, softer = (
            tally_of("attribution"),
            tally_of("attribution", control_tokens="neutralise"),
        )
        assert list(guarded([changed], tally)) == []
        assert [reason.rpartition(":")[2] for reason in tally.left_out] == [place]
        (record,) = records(iter([changed]), softer)
        assert tokens_in(record, softer.form) == []
        assert record["neutralised"] is True
