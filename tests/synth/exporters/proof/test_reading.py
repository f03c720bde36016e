"""Interchange forms read again: what comes back is what was written, but for what the form names as
lost.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from synth.exporters import facts
from synth.exporters.folder.shards import write_row_files
from synth.exporters.form import Form, NotRepresentableError
from synth.exporters.kind import RowSettings
from synth.exporters.kinds.attribution import AttributionRow, Cause
from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.proof.readers import imported
from synth.exporters.proof.reading import READERS, ProofIssues, reading_findings
from synth.exporters.registry import form_of
from synth.schemas.check import CheckResult
from synth.schemas.evidence.labels import AttributionLabel
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Observation, SampledBy, Source, ToolCall, Turn, Usage
from tests.synth.exporters.solved import call, result, trajectory

FILED = ("atif", "sts", "openai")
TEXT = some.text('aß \n"{}\u2028', max_size=6)
SAID = some.text('aß \n"{}\u2028', min_size=1, max_size=6)
NAME = some.sampled_from(["find", "ship"])
ARGUMENTS = some.sampled_from(
    ['{"q":1}', '{"q": 1}', "{}", '{"q":{"a":[0.3,null]}}', '{"q":"\\u00df"}']
)


def read_again(
    form: Form, rows: Sequence[Any], folder: Path, written: Sequence[Any] = ()
) -> ProofIssues:
    """The findings on rows that were written to a folder, or to these loaded values."""
    if form.layout == "files":
        write_row_files(folder, map(form.record, rows), "folder")
    findings = ProofIssues()
    reading_findings(folder, lambda: iter(written), form, rows, findings)
    return findings


def values(form: Form, rows: Sequence[Any]) -> list[Any]:
    return (
        [msgspec.json.decode(form.record(row)["line"]) for row in rows]
        if form.layout == "lines"
        else []
    )


@some.composite
def turns(draw: some.DrawFn) -> tuple[Turn, ...]:
    found = []
    for index in range(draw(some.integers(1, 3))):
        calls = tuple(
            ToolCall.received(f"c{index}_{i}", draw(NAME), draw(ARGUMENTS))
            for i in range(draw(some.integers(0, 2)))
        )
        heard = [
            Observation(
                draw(TEXT),
                Source.TOOL,
                c.call_id,
                draw(some.sampled_from([None, c.name, "other"])),
                draw(some.booleans()),
            )
            for c in calls
        ]
        for _ in range(draw(some.integers(0, 2))):
            source, name = draw(
                some.sampled_from(
                    [
                        (Source.USER, None),
                        (Source.USER, "Ann"),
                        (Source.ENVIRONMENT, None),
                        (Source.ENVIRONMENT, "system"),
                    ]
                )
            )
            heard.insert(
                draw(some.integers(0, len(heard))), Observation(draw(SAID), source, name=name)
            )
        spoken = {
            "content": draw(some.none() | SAID) if calls else draw(SAID),
            "thought": draw(some.none() | SAID),
            "agent": draw(some.sampled_from([None, "Bob"])),
            "reward": draw(some.sampled_from([None, 0.5])),
            "mask": draw(some.sampled_from([None, "failed_excursion"])) if index else None,
            "sampled_by": draw(some.sampled_from([SampledBy.POLICY, SampledBy.INJECTED]))
            if index
            else SampledBy.POLICY,
            "usage": draw(some.sampled_from([None, Usage(7, 2, 1, 1, 0.25), Usage(calls=1)])),
            "completion_token_ids": draw(some.sampled_from([None, (1, 2)])),
            "latency_ms": draw(some.sampled_from([None, 2.0])),
        }
        found.append(Turn(index=index, tool_calls=calls, observations=tuple(heard), **spoken))
    return tuple(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILED)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(played=turns(), system=some.sampled_from([None, "Help."]), world_opens=some.booleans())
def test_all_comes_back_but_for_what_is_named_and_what_is_named_does_not(
    name: str, played: tuple[Turn, ...], system: str | None, world_opens: bool, tmp_path: Path
) -> None:
    opening = (
        Observation("You see a door.", Source.ENVIRONMENT)
        if world_opens
        else Observation("Where?", Source.USER)
    )
    form = form_of("sft", name)
    row = sft_row(
        trajectory(turns=played, system_prompt=system, opening=(opening,), sampling={"t": 1}), form
    )
    assert read_again(form, [row], tmp_path, values(form, [row])).failed == []
    reader = READERS[name]
    record = form.record(row)
    if name == "atif":
        read = reader.read(msgspec.json.decode(record["text"]))
    elif name == "sts":
        read = reader.read(
            [msgspec.json.decode(line) for line in record["text"].split("\n") if line]
        )
    else:
        read = reader.read(msgspec.json.decode(record["line"]))
    differing = {*facts.differing((reader.told or form.told)(row), read)}
    assert set(form.unsaid(row)) - {facts.SPELLING} <= differing, "what is named as lost comes back"


def broken(tmp_path: Path, name: str, before: str, after: str, source: Any = None) -> list[str]:
    """What is found where somebody changed what was written."""
    form = form_of("sft", name)
    row = sft_row(trajectory() if source is None else source, form)
    changed = form
    if name != "openai":
        columns = tuple(
            one._replace(value=partial(_changed, one.value, before, after))
            if one.name == "text"
            else one
            for one in form.columns
        )
        changed = msgspec.structs.replace(form, columns=columns)
    lines = (
        [msgspec.json.decode(form.record(row)["line"].replace(before, after))]
        if name == "openai"
        else []
    )
    return read_again(changed, [row], tmp_path, lines).failed


def _changed(text_of: Callable[[Any], str], before: str, after: str, row: Any) -> str:
    text = text_of(row)
    assert before in text
    return text.replace(before, after)


@pytest.mark.parametrize("name", FILED)
@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("Here it is.", "There.", facts.TEXTS),
        ("ß", "s", facts.CALLS),
        ("Help.", "Hm.", facts.SYSTEM),
        ('"row"', '"now"', facts.ANSWERS),
    ],
)
def test_a_change_of_what_was_written_fails_the_proof_by_name(
    tmp_path: Path, name: str, before: str, after: str, what: str
) -> None:
    (failed,) = broken(tmp_path, name, before, after)
    assert failed.startswith(f"{name} read again: otherwise than written, and not named as lost: ")
    assert f"{what} (1 of 1 rows)" in failed


@pytest.mark.parametrize("name", ["atif", "sts"])
def test_another_reward_or_another_task_fails_the_proof_where_the_form_keeps_them(
    tmp_path: Path, name: str
) -> None:
    assert facts.REWARD in broken(tmp_path, name, '"reward":1.0', '"reward":0.0')[0]
    assert facts.ORIGIN in broken(tmp_path, name, '"task_id":"k"', '"task_id":"j"')[0]


def test_a_document_that_no_importer_takes_fails_the_proof_with_the_reason(tmp_path: Path) -> None:
    (failed,) = broken(tmp_path, "atif", '"step_id":2', '"step_id":5')
    assert "not read: atif: bad_record: step 2 has step_id 5" in failed


def test_atif_keeps_token_ids_and_authors_and_drops_thoughts_not_asked_for() -> None:
    first = Turn(
        index=0, content="a", thought="hm", completion_token_ids=(5, 6), injected="mistake"
    )
    form = form_of("sft", "atif")
    source = trajectory(turns=(first, Turn(index=1, content="b")))
    with_thoughts, without = (
        msgspec.json.decode(form.record(sft_row(source, form, RowSettings(thoughts=on)))["text"])
        for on in (True, False)
    )
    step = with_thoughts["steps"][2]
    assert (step["metrics"], step["reasoning_content"]) == ({"completion_token_ids": [5, 6]}, "hm")
    assert step["extra"]["synth"] == {"mask": "injected", "injected": "mistake"}
    assert "hm" not in str(without)


def test_what_the_world_says_first_is_no_system_prompt_to_readers_of_atif() -> None:
    form = form_of("sft", "atif")
    source = trajectory(
        system_prompt=None, opening=(Observation("You see a door.", Source.ENVIRONMENT),)
    )
    document = msgspec.json.decode(form.record(sft_row(source, form))["text"])
    assert imported(document).trajectory.system_prompt is None


def failure(*, by_agent: bool = True) -> AttributionRow:
    spoke = (Observation("Be quick.", Source.ENVIRONMENT, name="system"),)
    first = Turn(
        index=0, content="Sure.", tool_calls=(call('{"q": 1}'),), observations=(result(), *spoke)
    )
    source = trajectory(
        turns=(first, Turn(index=1, content="Done.")), outcome=Outcome.FAILURE, reward=0.0
    )
    return AttributionRow(
        source,
        None,
        Cause("injection", 1, True, AttributionLabel(side="agent" if by_agent else "environment")),
    )


def test_readers_of_who_and_when_get_the_texts_the_agents_and_the_mistake_and_the_rest_is_named(
    tmp_path: Path,
) -> None:
    form = form_of("attribution", "who_and_when")
    rows = [failure(), failure(by_agent=False)]
    written = [form.record(row) for row in rows]
    loaded = [
        record | {"history": [msgspec.json.decode(text) for text in record["history"]]}
        for record in written
    ]
    findings = read_again(form, rows, tmp_path, loaded)
    assert findings.failed == []
    assert findings.proven[0].endswith(
        "but for what is named as lost, but for 1 that no reader takes, which is named"
    )
    named = form.unsaid(rows[0])
    assert {facts.CALLS, facts.SCHEMAS, facts.SYSTEM, facts.MIDWAY} <= set(named)
    assert "nobody is the mistaken agent" in form.unsaid(rows[1])[-1]
    assert [m.get("name") for m in loaded[0]["history"]] == [
        None,
        "agent",
        "Computer_terminal",
        "Computer_terminal",
        "agent",
    ]
    moved = [loaded[0] | {"mistake_step": "1"}, loaded[1]]
    assert facts.LABEL in read_again(form, rows, tmp_path, moved).failed[0]


def test_check_results_come_back_from_atif(tmp_path: Path) -> None:
    form = form_of("sft", "atif")
    row = sft_row(trajectory(check_result=CheckResult(passed=True)), form)
    findings = read_again(form, [row], tmp_path)
    assert (findings.failed, facts.CHECK in form.unsaid(row)) == ([], False)
    assert findings.proven == [
        "atif: our importer reads all 1 rows as they were written, but for what is named as lost"
    ]


def test_broken_arguments_have_no_place_in_atif_and_the_next_row_has_its_own_file(
    tmp_path: Path,
) -> None:
    form = form_of("sft", "atif")
    bad = sft_row(
        trajectory(
            "bad", turns=(Turn(index=0, tool_calls=(ToolCall.received("c1", "find", "{oops"),)),)
        ),
        form,
    )
    with pytest.raises(NotRepresentableError):
        form.record(bad)
    good = sft_row(trajectory("good"), form)
    write_row_files(tmp_path, [form.record(good)], "folder")
    findings = ProofIssues()
    reading_findings(tmp_path, lambda: iter(()), form, [bad, good], findings)
    assert findings.failed == []
