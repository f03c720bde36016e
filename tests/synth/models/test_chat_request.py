import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from synth.models.servers.chat_request import opening_key, request_body
from synth.schemas.model import Sampling

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LATER = st.lists(
    st.builds(
        lambda role, text: {"role": role, "content": text},
        st.sampled_from(["assistant", "tool", "user"]),
        TEXT,
    )
)
GREETED = [{"role": "system", "content": "desk"}, {"role": "assistant", "content": "Hello?"}]


def asked(text: str) -> list[dict[str, Any]]:
    return [*GREETED, {"role": "user", "content": text}]


@given(TEXT, LATER)
def test_all_turns_of_a_conversation_have_the_key_of_its_opening(
    text: str, later: list[dict[str, Any]]
) -> None:
    assert opening_key([*asked(text), *later]) == opening_key(asked(text))


@given(TEXT, TEXT)
def test_openings_have_one_key_only_where_they_are_the_same(one: str, other: str) -> None:
    assert (opening_key(asked(one)) == opening_key(asked(other))) == (one == other)


def test_a_conversation_without_a_user_is_its_own_opening() -> None:
    assert len({opening_key([]), opening_key(GREETED[:1]), opening_key(GREETED)}) == 3


def test_what_the_flow_samples_with_comes_before_what_the_engine_asks_for_beside() -> None:
    sampling = Sampling(extra={"logprobs": False, "top_k": 3})
    body = json.loads(
        request_body("m", [], (), sampling, {"logprobs": True, "return_token_ids": True})
    )
    assert body == {
        "model": "m",
        "messages": [],
        "logprobs": False,
        "return_token_ids": True,
        "top_k": 3,
    }
