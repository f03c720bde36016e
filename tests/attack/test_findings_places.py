"""A secret is found wherever text can stand in a trajectory or a task; a field that is added to the
types is looked through too.
"""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.schemas.errors import RowError
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, ToolCall, Trajectory
from synth.set_aside import SetAside
from synth.text.redaction.findings import RedactionFinding, Scan, redacted, redacted_task
from synth.text.redaction.places import IDENTIFIERS, texts, with_texts
from synth.text.secrets.finder import Finder
from tests.attack.full_records import CARD, FLOAT, KEY, MAIL, Path, planted, text_places
from tests.trajectories import make_task, make_trajectory, make_turn
from tests.trajectories import turns as any_turns

SCAN = Scan(Finder())
OF_TRAJECTORY = text_places(Trajectory)
OF_TASK = text_places(Task)
WORLD = (("task_id",), ("env",))
"""What a task is found by, and played in."""


def said(path: Path) -> str:
    return ".".join(map(str, path))


@pytest.mark.parametrize("path", OF_TRAJECTORY, ids=said)
@pytest.mark.parametrize("secret", [MAIL, KEY])
def test_a_secret_at_any_place_of_a_trajectory_is_gone_or_sets_it_aside(
    path: Path, secret: str
) -> None:
    trajectory = planted(Trajectory, path, secret)
    found = SCAN.findings(trajectory)
    assert found, f"{said(path)} is not looked through"
    if len(path) == 1 and path[0] in IDENTIFIERS:
        with pytest.raises(RowError) as refused:
            redacted(trajectory, found)
        assert (refused.value.reason, refused.value.place) == (
            "secret_in_identifier",
            f"id.{path[0]}",
        )
        assert secret not in str(refused.value)
        return
    clean = redacted(trajectory, found)
    assert secret not in msgspec.json.encode(clean).decode()
    assert SCAN.findings(clean) == ()
    assert redacted(clean, ()) is clean


@pytest.mark.parametrize("path", OF_TASK, ids=said)
@pytest.mark.parametrize("secret", [MAIL, KEY])
def test_a_secret_at_any_place_of_a_task_is_gone_or_sets_it_aside(path: Path, secret: str) -> None:
    task = planted(Task, path, secret)
    found = SCAN.of_task(task)
    assert found, f"{said(path)} is not looked through"
    if path in WORLD:
        with pytest.raises(RowError, match="cannot be changed"):
            redacted_task(task, found)
        return
    assert secret not in msgspec.json.encode(redacted_task(task, found)).decode()


def test_the_places_are_as_many_as_the_types_say() -> None:
    """So that the two tests above look at what they seem to look at."""
    assert {
        ("turns", 0, "tool_calls", 0, "arguments"),
        ("sampling", "<value>"),
        ("tools", 0, "<value>"),
        ("guidance",),
    } <= {*OF_TRAJECTORY}
    assert {
        ("goal",),
        ("check", "told", 0, "value"),
        ("gold", 0, "arguments"),
        ("script", "<value>"),
    } <= {*OF_TASK}
    assert len(OF_TRAJECTORY) > 60
    assert len(OF_TASK) > 20


def test_calls_keep_their_answers_when_their_ids_are_secrets() -> None:
    call = ToolCall.received(f"call {MAIL}", "look", "{}")
    turn = make_turn(
        0,
        tool_calls=(call,),
        observations=(Observation("seen", call_id=call.call_id, name="look"),),
    )
    trajectory = msgspec.structs.replace(make_trajectory(turns=0), turns=(turn,))
    clean = redacted(trajectory, SCAN.findings(trajectory)).turns[0]
    assert clean.tool_calls[0].call_id == clean.observations[0].call_id == "call [REDACTED:email:1]"


def test_two_ids_that_would_become_one_set_the_row_aside() -> None:
    calls = tuple(ToolCall.received(name, "look", "{}") for name in (MAIL, MAIL.upper()))
    trajectory = msgspec.structs.replace(
        make_trajectory(turns=0), turns=(make_turn(0, tool_calls=calls),)
    )
    with pytest.raises(RowError) as refused:
        redacted(trajectory, SCAN.findings(trajectory))
    assert refused.value.reason == "labels_collide"


def test_two_keys_that_would_become_one_are_numbered() -> None:
    arguments = json.dumps({MAIL: 1, MAIL.upper(): 2, "[REDACTED:email:1] #2": 3, "in": {MAIL: 4}})
    trajectory = msgspec.structs.replace(
        make_trajectory(turns=0),
        turns=(make_turn(0, tool_calls=(ToolCall.received("c", "look", arguments),)),),
    )
    clean = redacted(trajectory, SCAN.findings(trajectory)).turns[0].tool_calls[0].parsed()
    first, second, given, inner = clean.items()
    assert (first, inner) == (("[REDACTED:email:1]", 1), ("in", {"[REDACTED:email:1]": 4}))
    assert (second[1], given) == (2, ("[REDACTED:email:1] #2", 3))


def test_a_float_is_nobodys_card_wherever_it_stands() -> None:
    blob = json.dumps(
        {"score": FLOAT, "text": f"about {FLOAT}", "deep": json.dumps([FLOAT, {"x": -FLOAT}])}
    )
    tools = ({"type": "function", "function": {"name": "f", "parameters": {"minimum": FLOAT}}},)
    turn = make_turn(
        0,
        content=f"it is {FLOAT}.",
        tool_calls=(ToolCall.received("c", "f", blob),),
        observations=(Observation(blob),),
        raw=blob,
    )
    trajectory = msgspec.structs.replace(make_trajectory(turns=0, tools=tools), turns=(turn,))
    assert SCAN.findings(trajectory, f"reach {FLOAT}") == ()


def test_a_stored_finding_within_a_float_changes_nothing() -> None:
    """As ledgers of former versions hold them."""
    text = json.dumps({"score": FLOAT, "card": CARD})
    at = text.index("5454")
    turn = make_turn(0, observations=(Observation(text),))
    trajectory = msgspec.structs.replace(make_trajectory(turns=0), turns=(turn,))
    found = [RedactionFinding("turn.0.observation.0", at, at + 16, "card_number")]
    assert redacted(trajectory, found) == trajectory
    with_card = [
        *found,
        RedactionFinding(
            "turn.0.observation.0", text.index("4111"), len(text) - 1, "card_number", 2
        ),
    ]
    (seen,) = redacted(trajectory, with_card).turns[0].observations
    assert json.loads(seen.content) == {"score": FLOAT, "card": "[REDACTED:card_number:2]"}


places = st.sampled_from(
    [
        "system",
        "tools",
        "opening.0",
        "turn.0.content",
        "turn.1.call.0.arguments",
        "turn.0.observation.0",
        "check",
        "labels",
        "goal",
        "no.such",
    ]
)
stored = st.lists(
    st.builds(RedactionFinding, places, st.integers(-2, 60), st.integers(-2, 90), st.just("email")),
    max_size=4,
)


@given(st.lists(any_turns, max_size=3), stored, st.text(max_size=40))
@settings(max_examples=150)
def test_stored_findings_of_any_kind_redact_a_trajectory_or_set_it_aside(
    turns: list[object], found: list[RedactionFinding], goal: str
) -> None:
    trajectory = msgspec.structs.replace(make_trajectory(turns=0), turns=tuple(turns))
    aside = SetAside()
    aside.tried("trajectory", lambda: redacted(trajectory, found))
    aside.tried("task", lambda: redacted_task(make_task(goal=goal), found))
    assert {*aside.counts} <= {
        f"set_aside:{reason}"
        for reason in ("finding_without_text", "unlawful_redaction", "labels_collide")
    }


@given(st.lists(any_turns, max_size=3))
@settings(max_examples=100)
def test_texts_that_do_not_change_leave_the_same_object(turns: list[object]) -> None:
    trajectory = msgspec.structs.replace(make_trajectory(turns=0), turns=tuple(turns))
    assert with_texts(trajectory, lambda place, text: text) is trajectory
    changed = with_texts(trajectory, lambda place, text: text)
    assert list(texts(changed)) == list(texts(trajectory))
