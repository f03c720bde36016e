"""A role that plays no episode: its replies are paid for once and kept whatever they are worth;
none is made up for one that failed.
"""

import asyncio
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from synth.engine.asking import Answer, RoleClient, RoleRequest, UnreadableError
from synth.engine.budget import IN_A_ROW
from synth.engine.context import Role, Run
from synth.engine.cost import cost
from synth.engine.progress import PlainProgress, progress_for
from synth.envs.echo import SPEC
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.storage.journal import Journal
from synth.ledger.views import connect
from synth.models.admission import AdmittedChat, ConcurrencyLimit
from synth.schemas.flow import Flow
from synth.schemas.model import Completion, ModelError, Sampling
from synth.schemas.outcome import Fault
from synth.schemas.policy import PolicySpec
from synth.schemas.trajectory import Authorship, Usage
from tests.synth.models.scripted import ScriptedChat

QUESTION = RoleRequest(
    purpose="reflect_retry",
    subject_id="t1",
    task_id="task",
    messages=({"role": "user", "content": "How many?"},),
)


def number(completion: Completion) -> int:
    try:
        return int(json.loads(completion.content or ""))
    except (ValueError, TypeError) as error:
        raise UnreadableError("it is no number") from error


def said(content: str, **more: Any) -> Completion:
    return Completion(
        content=content,
        usage=Usage(10, 2, 0, 1),
        finish_reason=more.pop("finish_reason", "stop"),
        **more,
    )


def role(model: ScriptedChat) -> Role:
    def nobody(episode: object) -> Any:
        raise AssertionError("it plays no episode")

    return Role(
        PolicySpec(
            name="chat",
            authorship=Authorship.MODEL,
            identity={},
            open=nobody,
            sampling={"temperature": 0.5},
        ),
        model,
    )


def run_in(folder: Path) -> Run:
    def none(*given: object) -> Any:
        raise AssertionError("no world is needed")

    ledger = StoredLedger(str(folder / "run"), create=True)
    return Run(
        ledger, Flow(name="f"), {}, none, none, lambda name, config: SPEC, progress_for(quiet=True)
    )


def ask(
    run: Run,
    model: ScriptedChat,
    question: RoleRequest = QUESTION,
    *,
    close: bool = True,
    name: str = "judge",
    read: Any = number,
) -> Answer[Any]:
    journal = run.journals["s"] = Journal(run.ledger.journal_folder / "key-s.jsonl")
    try:
        return asyncio.run(RoleClient(run, "s", name, role(model)).ask(question, read))
    finally:
        journal.close(discard=close)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    return run_in(tmp_path)


def test_a_reply_that_can_be_read_is_the_answer(run: Run) -> None:
    answer = ask(run, ScriptedChat([said("7")]))
    assert (answer.value, answer.fault, answer.unreadable, len(answer.replies)) == (
        7,
        None,
        None,
        1,
    )
    assert (run.budget.spent.calls, run.budget.spent.prompt_tokens) == (1, 10)


def test_an_unreadable_reply_is_asked_again_with_the_reason_and_every_reply_is_kept(
    run: Run,
) -> None:
    model = ScriptedChat([said("about seven"), said("7")])
    answer = ask(run, model)
    assert answer.value == 7
    assert [reply.unreadable for reply in answer.replies] == ["it is no number", None]
    assert "it is no number" in model.requests[1][-1]["content"]


@pytest.mark.parametrize(
    "bad",
    [
        said(""),
        said("null"),
        said("7", finish_reason="length"),
        said("7", finish_reason="content_filter"),
        said("{"),
    ],
)
def test_three_replies_that_cannot_be_read_are_no_answer(run: Run, bad: Completion) -> None:
    answer = ask(run, ScriptedChat([bad] * 3))
    assert (answer.value, answer.fault, len(answer.replies)) == (None, None, 3)
    assert answer.unreadable


def test_a_server_that_fails_is_a_fault_of_the_judge_and_never_an_answer(run: Run) -> None:
    answer = ask(run, ScriptedChat([ModelError("HTTP 500", retryable=False)]))
    assert answer.value is None
    assert answer.fault is not None
    assert answer.fault.fault is Fault.JUDGE


def test_what_an_interrupted_shard_was_told_is_not_asked_again(run: Run) -> None:
    first = ask(run, ScriptedChat([said("about seven"), said("7")]), close=False)
    silent = ScriptedChat([])
    again = ask(run, silent)
    assert (again.value, again.replies) == (first.value, first.replies)
    assert silent.requests == []


def test_equal_questions_told_apart_by_draw_are_asked_apart(run: Run) -> None:
    first = ask(run, ScriptedChat([said("7")]), close=False)
    second = ask(run, ScriptedChat([said("8")]), replace(QUESTION, draw=1))
    assert (first.value, second.value) == (7, 8)


def test_the_roles_sampling_is_used_and_a_question_may_override_it(run: Run) -> None:
    seen: list[Sampling] = []

    class Listening(ScriptedChat):
        async def complete(self, messages: Any, tools: Any, sampling: Sampling) -> Completion:
            seen.append(sampling)
            return await super().complete(messages, tools, sampling)

    warm = RoleRequest(
        purpose="x", subject_id="t", messages=QUESTION.messages, sampling={"temperature": 0.7}
    )
    ask(run, Listening([said("1")]))
    ask(run, Listening([said("1")]), warm)
    assert [sampling.temperature for sampling in seen] == [0.5, 0.7]


def test_under_a_ceiling_nothing_new_is_asked(run: Run) -> None:
    run.stopped = "the ceiling of 5 tokens is reached"
    model = ScriptedChat([said("7")])
    journal = run.journals["s"] = Journal(run.ledger.journal_folder / "key-s.jsonl")
    gated = role(model)
    answer = asyncio.run(
        RoleClient(
            run, "s", "judge", Role(gated.policy, AdmittedChat(model, ConcurrencyLimit(1)))
        ).ask(QUESTION, number)
    )
    journal.close()
    assert (answer.value, answer.fault, answer.replies, model.requests) == (None, None, (), [])


def test_what_replies_have_used_is_in_the_accounts_of_their_role(run: Run) -> None:
    answer = ask(run, ScriptedChat([said("about seven"), said("7")]))
    run.ledger.commit(StageRef("reflect_retry", "key"), replies=answer.replies)
    (row,) = [row for row in cost(run.ledger)["by"] if row["role"] == "judge"]
    assert (row["stage"], row["model_calls"], row["prompt_tokens"], row["completion_tokens"]) == (
        "reflect_retry",
        2,
        20,
        4,
    )
    with connect(run.ledger) as connection:
        found = connection.execute(
            "SELECT ordinal, subject_id, content, unreadable FROM replies_all ORDER BY ordinal"
        ).fetchall()
    assert found == [(0, "t1", "about seven", "it is no number"), (1, "t1", "7", None)]


def test_a_role_whose_server_only_refuses_ends_the_run_whatever_other_models_answer(
    run: Run,
) -> None:
    for _ in range(IN_A_ROW):
        assert run.refused is None
        run.turned(Usage(1, 1, 0, 1))
        ask(run, ScriptedChat([ModelError("HTTP 401", retryable=False)]))
    assert (
        run.refused
        == "judge: HTTP 401; stopped after 10 attempts in a row that ended so: mend it and run "
        "again, what was done is kept"
    )


def test_logs_that_are_too_long_for_a_role_end_no_run(run: Run) -> None:
    answers = [
        ask(run, ScriptedChat([ModelError("too long", context_overflow=True)]))
        for _ in range(2 * IN_A_ROW)
    ]
    assert all(answer.fault is not None and answer.fault.context_overflow for answer in answers)
    assert run.refused is None


def test_of_each_role_that_fails_the_first_fault_is_told(run: Run) -> None:
    said = StringIO()
    run.progress = PlainProgress(said)
    for name in ("judge", "injector", "judge"):
        ask(run, ScriptedChat([ModelError("HTTP 500", retryable=False)]), name=name)
    assert said.getvalue().splitlines() == [
        "first fault of kind judge: judge: HTTP 500",
        "first fault of kind judge: injector: HTTP 500",
    ]
