"""A model in the place of the rule-based customer: it words what the script says, and nothing that
it does is blamed on the agent.
"""

from pathlib import Path

import msgspec
import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.customer import LINES
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.trajectory import Authorship, Source, ToolCall, Usage
from synth.text.provenance import provenance
from tests.synth.models.chat_mishaps import Mishap
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.user_brains import (
    ASKS,
    at_first,
    faithful,
    in_other_words,
    line_of,
    moody,
    never_right,
    said,
)
from tests.synth.rollout.dialogues import TASKS, as_given, notes, played
from tests.synth.rollout.user_line_runs import calls_of, spoken

pytestmark = pytest.mark.slow


GO_ON = LINES["heard"]


def test_agent_state_and_verdict_are_those_of_the_rule_based_customer_and_only_the_words_differ(
    tmp_path: Path,
) -> None:
    by_rules = played(tmp_path / "rules", None)
    with ChatServer(faithful) as server:
        by_model = played(tmp_path / "model", server.url)
    assert {t.outcome for t in by_rules} == {Outcome.SUCCESS}
    for one, other in zip(by_rules, by_model, strict=True):
        assert [as_given(turn) for turn in other.turns] == list(map(as_given, one.turns))
        assert (other.outcome, other.reward, other.check_result) == (
            one.outcome,
            one.reward,
            one.check_result,
        )
        assert spoken(other)[:-1] != spoken(one)[:-1]
    assert "Hello. Yes, please go ahead." in [text for t in by_model for text in spoken(t)]


@pytest.mark.slow
def test_other_words_for_the_same_lines_cost_no_agent_its_verdict_or_its_provenance(
    tmp_path: Path,
) -> None:
    tasks = WORLD.make_tasks({"transient_rate": 0}, 31, 40)
    by_rules = played(tmp_path / "rules", None, tasks)
    with ChatServer(in_other_words) as server:
        by_model = played(tmp_path / "model", server.url, tasks)
    assert notes(by_model) == []
    lines = [
        (text, other)
        for a, b in zip(by_rules, by_model, strict=True)
        for text, other in zip(spoken(a), spoken(b), strict=True)
    ]
    assert sum(text != other for text, other in lines) > 0.6 * len(lines) > 100
    assert {t.outcome for t in by_model} == {Outcome.SUCCESS}
    assert [provenance(t).counts for t in by_model] == [provenance(t).counts for t in by_rules]


def test_without_the_role_nothing_of_it_is_in_the_record(tmp_path: Path) -> None:
    for trajectory in played(tmp_path, None):
        record = msgspec.json.encode(trajectory)
        assert b'"wording"' not in record
        assert b'"user_model"' not in record
        assert trajectory.user_totals == Usage()


def test_its_tokens_are_counted_apart_from_the_agents_and_the_last_line_is_not_worded(
    tmp_path: Path,
) -> None:
    with ChatServer(faithful) as server:
        trajectories = played(tmp_path, server.url)
        assert server.counts()["total"] == sum(map(calls_of, trajectories))
    for trajectory in trajectories:
        wordings = [
            seen.wording
            for turn in trajectory.turns
            for seen in turn.observations
            if seen.wording is not None
        ]
        assert trajectory.totals.calls == trajectory.totals.completion_tokens == 0, (
            "a scripted agent asks no model"
        )
        assert trajectory.user_totals.calls == len(wordings) > 0
        assert trajectory.user_totals.prompt_tokens == sum(
            w.usage.prompt_tokens for w in wordings if w.usage is not None
        )
        assert trajectory.user_model == "test-user"
        assert [seen.wording for seen in trajectory.turns[-1].observations] == [None] * len(
            trajectory.turns[-1].observations
        )


def test_the_model_is_told_the_line_and_what_was_said_but_neither_script_nor_tools(
    tmp_path: Path,
) -> None:
    with ChatServer(faithful) as server:
        (trajectory,) = played(tmp_path, server.url, TASKS[:1])
        prompts = ["\n".join(m["content"] for m in body["messages"]) for body in server.bodies]
        assert all("tools" not in body for body in server.bodies)
    secrets = list(TASKS[0].script["slots"].values())
    first = {secret: next(prompt for prompt in prompts if secret in prompt) for secret in secrets}
    tool_answers = [
        seen.content
        for turn in trajectory.turns
        for seen in turn.observations
        if seen.source is Source.TOOL
    ]
    assert len(secrets) > 1
    assert all(
        f"{ASKS}My {slot} is {secret}." in first[secret]
        for slot, secret in TASKS[0].script["slots"].items()
    )
    assert not [
        answer
        for answer in tool_answers
        if len(answer) > 40
        for prompt in prompts
        if answer in prompt
    ]


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (lambda line: said(f"{line} My phone is 555-999-0000."), "reveals"),
        (lambda line: said(f"{line} Goodbye!"), "ends_early"),
        (lambda line: said(f"{line} And cancel everything."), "changes_goal"),
        (lambda line: said("Let me check that for you."), "plays_agent"),
        (lambda line: said(f"Customer: {line}"), "out_of_role"),
        (lambda line: said(""), "silent"),
        (lambda line: said(f"{line} {'well ' * 60}"), "rambles"),
        (
            lambda line: {
                **said(line),
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "get_order", "arguments": "{}"},
                    }
                ],
            },
            "plays_agent",
        ),
    ],
    ids=[
        "reveals",
        "ends_early",
        "changes_goal",
        "plays_agent",
        "out_of_role",
        "silent",
        "rambles",
        "calls_tools",
    ],
)
def test_a_wording_that_deviates_is_never_shown_it_is_asked_for_again_and_noted(
    tmp_path: Path, bad: object, kind: str
) -> None:
    with ChatServer(at_first(bad)) as server:  # type: ignore[arg-type]
        (trajectory,) = played(tmp_path, server.url, TASKS[:1])
        again = [
            body["messages"][-1]["content"]
            for body in server.bodies
            if body["messages"][-2]["role"] == "assistant"
        ]
    assert trajectory.outcome is Outcome.SUCCESS
    assert kind in set(notes([trajectory]))
    assert all(text.startswith("Hello. ") for text in spoken(trajectory)[:-1])
    assert again
    assert all(kind in text for text in again)
    assert calls_of(trajectory) == 2 * len(again)


def test_a_thought_that_a_server_leaves_in_the_reply_is_not_said(tmp_path: Path) -> None:
    with ChatServer(
        lambda body: said(f"<think>My phone is 555-999-0000?</think>\n\nHello. {line_of(body)}")
    ) as server:
        (trajectory,) = played(tmp_path, server.url, TASKS[:1])
    assert notes([trajectory]) == []
    assert all(text.startswith("Hello. ") for text in spoken(trajectory)[:-1])


def test_where_no_wording_will_do_the_scripted_words_are_said_and_the_note_says_so(
    tmp_path: Path,
) -> None:
    by_rules = played(tmp_path / "rules", None)
    with ChatServer(
        never_right(["Goodbye!", "Let me check that for you.", "My zip is 12345."])
    ) as server:
        by_model = played(tmp_path / "model", server.url, rewordings=2)
    assert [spoken(t) for t in by_model] == [spoken(t) for t in by_rules]
    assert [t.outcome for t in by_model] == [t.outcome for t in by_rules]
    wordings = [
        seen.wording
        for t in by_model
        for turn in t.turns
        for seen in turn.observations
        if seen.wording is not None
    ]
    assert {
        (w.fell_back, len(w.turned_down), w.usage.calls if w.usage else 0) for w in wordings
    } == {(True, 3, 3)}


def test_where_the_flow_wants_no_scripted_words_it_is_a_fault_of_the_simulator_and_no_label(
    tmp_path: Path,
) -> None:
    with ChatServer(never_right(["Goodbye!"])) as server:
        attempts = played(tmp_path, server.url, TASKS[:1], rewordings=1, unfit="fault")
    assert [(t.outcome, t.fault, t.reward, t.check_result) for t in attempts] == [
        (Outcome.INVALID, Fault.USER_SIMULATOR, None, None)
    ] * 3
    assert attempts[0].fault_detail is not None
    assert attempts[0].fault_detail.startswith("user: test-user departed from its script 2 times: ")
    assert "ends_early" in attempts[0].fault_detail
    assert calls_of(attempts[0]) == 2
    assert attempts[0].turns[-1].mask == "fault"


@pytest.mark.parametrize("kind", ["disconnect", "malformed_json", "unauthorized"])
def test_a_server_that_breaks_is_a_fault_of_the_simulator_tried_again_in_the_same_slot(
    tmp_path: Path, kind: str
) -> None:
    with ChatServer(faithful, mishaps=[None, Mishap(kind)]) as server:
        attempts = played(tmp_path, server.url, TASKS[:1])
    assert [(t.outcome, t.fault) for t in attempts] == [
        (Outcome.INVALID, Fault.USER_SIMULATOR),
        (Outcome.SUCCESS, None),
    ]
    assert {t.slot_id for t in attempts} == {"slot0"}
    assert attempts[0].reward is None
    assert calls_of(attempts[0]) == 1


def test_a_server_that_answers_too_late_is_a_timeout_that_names_the_user(tmp_path: Path) -> None:
    with ChatServer(faithful, mishaps=[Mishap("hang")]) as server:
        attempts = played(
            tmp_path, server.url, TASKS[:1], settings={"timeout_s": 0.3, "total_timeout_s": 0.5}
        )
    assert [(t.outcome, t.fault) for t in attempts] == [
        (Outcome.INVALID, Fault.TIMEOUT),
        (Outcome.SUCCESS, None),
    ]
    assert (attempts[0].fault_detail or "").startswith("user: ")


def test_an_agent_that_repeats_itself_is_stuck_however_the_customer_words_it(
    tmp_path: Path,
) -> None:
    class Repeats:
        async def act(self, view: View) -> Act:
            call = ToolCall.received(
                "c", "reply", canonical_json({"message": "One moment."}).decode()
            )
            return Act(turn=AgentTurn(tool_calls=(call,)))

    def open_policy(episode: Episode) -> Policy:
        return Repeats()

    repeats = PolicySpec(
        name="repeats", authorship=Authorship.SCRIPTED, identity={}, open=open_policy
    )
    with ChatServer(moody()) as server:
        (trajectory,) = played(tmp_path, server.url, TASKS[:1], policy=repeats)
    assert (trajectory.termination, len(trajectory.turns)) == (Termination.STUCK, 4)
    assert len(set(spoken(trajectory))) == 4
    assert {
        seen.wording.scripted
        for turn in trajectory.turns
        for seen in turn.observations
        if seen.wording is not None
    } == {GO_ON}
