"""The last look: what is not redacted stays, and what was found is said nowhere."""

import json

import pytest

from synth.hub.outgoing import PublishScan, Searched
from synth.schemas.errors import ConfigError

EVERYTHING = Searched(trajectories=3, unseen=0, redacted=0, settings=None)
KEY = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3j"


def filtered(**settings: object) -> Searched:
    chosen = {"find": ["secrets", "personal"], "ignore": [], "allow": [], "patterns": {}} | settings
    return Searched(trajectories=3, unseen=0, redacted=1, settings=chosen)


def test_a_secret_keeps_everything_here_and_is_told_by_place_and_kind_only() -> None:
    outgoing = PublishScan(EVERYTHING)
    outgoing.search("sft, column messages", f"export HF_TOKEN={KEY}")
    outgoing.search("README.md", "all clear")
    with pytest.raises(ConfigError) as refusal:
        outgoing.require_clean()
    assert "1 x hugging_face_token (sft, column messages)" in str(refusal.value)
    assert "add `secrets` to the flow's filters" in str(refusal.value)
    assert KEY not in str(refusal.value)


def test_what_the_filter_redacted_passes() -> None:
    outgoing = PublishScan(filtered())
    outgoing.search(
        "sft, column messages",
        "export HF_TOKEN=[REDACTED:hugging_face_token:1], write to [REDACTED:email:2]",
    )
    outgoing.require_clean()


def test_what_the_flow_let_through_passes_and_the_rest_does_not() -> None:
    outgoing = PublishScan(filtered(allow=["@shop\\.io\\Z"]))
    outgoing.search("rl, column goal", "I am ann.lee@shop.io")
    outgoing.require_clean()
    outgoing.search("rl, column goal", "I am ann.lee@webmail.io")
    with pytest.raises(ConfigError, match=r"1 x email \(rl, column goal\)"):
        outgoing.require_clean()


def test_a_filter_that_has_not_seen_every_trajectory_lets_nothing_through() -> None:
    partly = Searched(
        trajectories=3,
        unseen=1,
        redacted=0,
        settings=dict(filtered(ignore=["personal"]).settings or {}),
    )
    outgoing = PublishScan(partly)
    outgoing.search("sft, column messages", "ann.lee@webmail.io")
    with pytest.raises(ConfigError, match="email"):
        outgoing.require_clean()


def test_the_token_that_publishes_may_stand_nowhere_whatever_it_looks_like() -> None:
    outgoing = PublishScan(filtered(ignore=["secrets", "personal"]), token="plain-words")
    outgoing.search("README.md", "made with plain-words")
    with pytest.raises(ConfigError, match=r"the token that publishes \(README.md\)") as refusal:
        outgoing.require_clean()
    assert "plain-words" not in str(refusal.value)


def message(content: str) -> str:
    value = {
        "role": "tool",
        "content": content,
        "tool_call_id": "call_21_0",
        "name": "issue_refund",
    }
    return json.dumps(value, separators=(",", ":"))


def test_the_field_after_a_sentence_in_a_stored_message_is_no_credential() -> None:
    outgoing = PublishScan(filtered())
    outgoing.search("sft, column messages", message("order O-76246 has no return; nothing to pay"))
    outgoing.search("sft, column messages", message("the order has no return"))
    outgoing.require_clean()


@pytest.mark.parametrize(
    "content", ["the password is hunter2!Xq9", f"has no return; use {KEY}", "password: hunter2!Xq9"]
)
def test_a_secret_within_a_stored_message_is_found_wherever_it_ends(content: str) -> None:
    outgoing = PublishScan(filtered())
    outgoing.search("sft, column messages", message(content))
    with pytest.raises(ConfigError, match="not redacted"):
        outgoing.require_clean()


def test_a_secret_that_a_field_of_json_names_is_found() -> None:
    outgoing = PublishScan(filtered())
    outgoing.search("sft, column messages", '{"password":"hunter2!Xq9","name":"x"}')
    with pytest.raises(ConfigError, match="not redacted"):
        outgoing.require_clean()
