"""Planted secrets are found in every wrapping and place, and nothing of them is left; what was JSON
still is.
"""

import json
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.planted_secrets import VALUES, WRAPPINGS, planted
from synth.ledger.redactions import findings_of
from synth.schemas.check import CheckResult
from synth.schemas.errors import ConfigError
from synth.schemas.trajectory import (
    Observation,
    Planted,
    Source,
    ToolCall,
    Trajectory,
    Turn,
    TurnedDown,
    Wording,
)
from synth.text.layers import blobs, layers
from synth.text.redaction.findings import RedactionFinding, Scan, redacted
from synth.text.redaction.places import texts
from synth.text.secrets.finder import Finder, kinds
from tests.trajectories import make_trajectory, make_turn

FINDER = Finder()
SCAN = Scan(FINDER)


def readings(text: str) -> list[str]:
    """All that a reader could make of a text."""
    return [
        reading
        for layer in layers(text)
        for reading in (layer.text, *(plain for _, _, plain in blobs(layer)))
    ]


def without(text: str) -> str:
    trajectory = make_trajectory(system_prompt=text, turns=0)
    return redacted(trajectory, SCAN.findings(trajectory)).system_prompt or ""


def test_what_is_planted_is_of_a_kind_that_is_looked_for() -> None:
    assert set(VALUES) <= set(kinds())


@pytest.mark.slow
def test_at_least_99_percent_of_what_is_planted_is_found_and_gone_in_every_wrapping() -> None:
    left, count = [], 0
    for kind, wrapping, secret, text in planted(seed=5):
        count += 1
        clean = without(text)
        if any(secret in reading for reading in readings(clean)):
            left.append((kind, wrapping))
        if text.startswith("{"):
            json.loads(clean)
    assert count == len(VALUES) * len(WRAPPINGS)
    assert len(left) <= 0.01 * count, left


@given(
    st.sampled_from(sorted(VALUES)),
    st.sampled_from(sorted(WRAPPINGS)),
    st.integers(0, 10**6),
    st.text(max_size=8),
)
@settings(max_examples=60)
def test_whatever_stands_beside_it_json_stays_json_and_the_rest_stays_as_it_was(
    kind: str, wrapping: str, seed: int, beside: str
) -> None:
    value = VALUES[kind](Random(seed))
    text = json.dumps({"before": beside, "value": WRAPPINGS[wrapping](value), "after": [beside, 3]})
    clean = json.loads(without(text))
    assert (clean["before"], clean["after"]) == (beside, [beside, 3])


def told_everywhere(token: str, other: str) -> Trajectory:
    """A trajectory that holds a token at every place, and another value beside it once."""
    seen = Observation(
        f"token {token}",
        call_id="call_0",
        wording=Wording(f"scripted {token}", "m", (TurnedDown(f"refused {token}", ()),)),
        planted=Planted(f"planted {token}"),
    )
    turn = make_turn(
        0,
        content=f"I saw {token} of {other}",
        thought=f"hm {token}",
        raw=f"raw {token}",
        tool_calls=(
            ToolCall.received("call_0", f"use_{token}", json.dumps({"key": token})),
            ToolCall.received("c", "b", f"{{broken {token}"),
        ),
        observations=(seen,),
        prompt_token_ids=(1, 2),
        completion_token_ids=(3,),
        logprobs=(-0.1,),
    )
    turned = make_trajectory(
        turns=0,
        system_prompt=f"Use {token}",
        tools=({"type": "function", "function": {"name": "look", "description": f"like {token}"}},),
        opening=(Observation(f"mine is {token}", Source.USER),),
        guidance=f"try {token}",
        check_result=CheckResult(True, facts={"keys/1/value": token}),
    )
    return msgspec.structs.replace(turned, turns=(turn,))


def test_a_shared_prompt_has_the_same_stand_ins_whatever_comes_behind_it() -> None:
    mine, others = (VALUES["email"](Random(seed)) for seed in (3, 4))
    asked = (Observation(f"I am {mine}", Source.USER),)
    bare = make_trajectory(turns=1, opening=asked)
    said = msgspec.structs.replace(bare.turns[0], content=f"Not {others}?")
    longer = msgspec.structs.replace(bare, turns=(said,))
    both = [redacted(one, SCAN.findings(one)) for one in (bare, longer)]
    assert [one.opening[0].content for one in both] == ["I am [REDACTED:email:1]"] * 2
    assert both[1].turns[0].content == "Not [REDACTED:email:2]?"


def test_what_a_turn_heard_is_numbered_behind_what_it_said() -> None:
    said, heard = (VALUES["email"](Random(seed)) for seed in (3, 4))
    turn = Turn(0, f"To {said}", observations=(Observation(f"from {heard}", Source.USER),))
    one = make_trajectory(turns=0)
    clean = msgspec.structs.replace(one, turns=(turn,))
    clean = redacted(clean, SCAN.findings(clean))
    assert clean.turns[0].content == "To [REDACTED:email:1]"


def test_every_place_is_looked_into_and_a_value_has_one_stand_in_everywhere() -> None:
    token = VALUES["github_token"](Random(3))
    other = VALUES["email"](Random(4))
    turned = told_everywhere(token, other)
    clean = redacted(turned, SCAN.findings(turned))
    everything = msgspec.json.encode(clean).decode()
    assert token not in everything
    assert other not in everything
    places = [place for place, _ in texts(turned)]
    assert (
        sum("[REDACTED:github_token:1]" in text for _, text in texts(clean)) == len(places) - 2
    )  # the call's name b holds none, nor do the labels
    assert clean.turns[0].content == "I saw [REDACTED:github_token:1] of [REDACTED:email:1]"
    assert clean.turns[0].tool_calls[0].parsed() == {"key": "[REDACTED:github_token:1]"}
    assert (
        clean.turns[0].prompt_token_ids,
        clean.turns[0].completion_token_ids,
        clean.turns[0].logprobs,
    ) == (None, None, None)


def test_a_trajectory_without_findings_is_the_same_object_with_its_token_ids() -> None:
    trajectory = make_trajectory(turns=1)
    assert redacted(trajectory, SCAN.findings(trajectory)) is trajectory


def test_a_number_becomes_a_string_and_a_line_break_before_a_value_stays_whole() -> None:
    assert (
        without('{"card": 4111111111111111, "n": 4}')
        == '{"card": "[REDACTED:card_number:1]", "n": 4}'
    )
    assert without('{"note": "to\\nann.lee@mailhost.com"}') == '{"note": "to\\n[REDACTED:email:1]"}'
    assert (
        without('"{\\"note\\": \\"to\\\\nann.lee@mailhost.com\\"}"')
        == '"{\\"note\\": \\"to\\\\n[REDACTED:email:1]\\"}"'
    )


@pytest.mark.parametrize(
    "text",
    [
        "nora.yates9319@mail.example and support@example.com and a@sub.example.org",  # RFC 2606
        "call 555-970-1133 or (212) 555-0199",  # kept for fiction
        "order 4111111111111112, tracking 1234567890123456",  # no check digit; no network
        "000-12-3456 and 666-12-3456 and 123-00-4567",
        "api_key = your_api_key_here_1 and password: ${DB_PASSWORD1}",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "version 10.2.3.44 of sk-learn-contrib-extra-long-name",
        "2024-05-15T18:30:00 W8520922 credit_card_9513926",
    ],
)
def test_what_only_looks_alike_is_left(text: str) -> None:
    assert FINDER.found(text) == []


@pytest.mark.slow
def test_kinds_may_be_left_out_allowed_and_added() -> None:
    text = "ann.lee@mailhost.com has badge EMP-004411 at 8.8.8.8"
    assert [span.kind for span in FINDER.found(text)] == ["email"]
    assert Finder(ignore=("email",)).found(text) == []
    assert Finder(find=("secrets",)).found(text) == []
    assert Finder(allow=("@mailhost\\.com",)).found(text) == []
    assert [
        s.kind for s in Finder(find=("ip_address",), patterns={"badge": r"EMP-\d{6}"}).found(text)
    ] == ["badge", "ip_address"]
    with pytest.raises(ConfigError, match=r"'emails' is no kind .*email"):
        Finder(ignore=("emails",))
    with pytest.raises(ConfigError, match="mine"):
        Finder(patterns={"mine": "(?=a)"})


def test_findings_of_another_trajectory_are_refused() -> None:
    trajectory = make_trajectory(turns=1)
    with pytest.raises(ValueError, match=r"turn\.7.content, which it does not have"):
        redacted(trajectory, [RedactionFinding("turn.7.content", 0, 1, "email")])
    with pytest.raises(ValueError, match="characters 4 to 999"):
        redacted(trajectory, [RedactionFinding("system", 4, 999, "email")])


def test_findings_come_back_from_a_decision_and_hold_nothing_secret() -> None:
    trajectory = make_trajectory(system_prompt="write to ann.lee@mailhost.com", turns=0)
    found = SCAN.findings(trajectory)
    detail = json.loads(msgspec.json.encode({"findings": found}))
    assert "ann.lee" not in json.dumps(detail)
    assert findings_of(detail) == found == (RedactionFinding("system", 9, 29, "email", 1),)
