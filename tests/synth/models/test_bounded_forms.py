"""A form's texts are bounded by what a reply may have, and nothing else of it is changed."""

from copy import deepcopy
from typing import Any

import msgspec

from synth.engine.roles.replies import response_form
from synth.models.bounded_forms import bounded
from synth.schemas.model import Sampling
from synth.synthesizers.failures.roles import InjectorReply
from synth.synthesizers.reflection.reflection import UNSOLVED
from synth.synthesizers.reverse.role_writer import WrittenGoal


def schema_of(form: Any, most: int | None) -> dict[str, Any]:
    before = deepcopy(form)
    found = bounded(Sampling(max_tokens=most, extra={"response_format": form}))
    assert form == before
    schema = found.extra["response_format"]["json_schema"]["schema"]
    assert isinstance(schema, dict)
    return schema


def test_each_text_has_its_share_of_the_tokens() -> None:
    class Two(msgspec.Struct):
        ab: str
        cd: str | None
        n: int

    # 2 x 100 characters, without 8, 8 and 7 for the keys
    shares = schema_of(response_form("two", Two), 100)["properties"]
    assert shares["ab"] == {"type": "string", "maxLength": 88}
    assert shares["cd"] == {"anyOf": [{"type": "string", "maxLength": 88}, {"type": "null"}]}
    assert shares["n"] == {"type": "integer"}


def test_choices_and_what_is_bounded_already_stay() -> None:
    properties = schema_of(UNSOLVED, 10)["properties"]
    assert properties["trajectory_outcome"] == {"enum": ["failure"]}
    assert properties["trajectory_summary"]["maxLength"] == 24, "a text is left something to say"
    named = {"type": "string", "maxLength": 7}
    own = {"type": "json_schema", "json_schema": {"schema": {"properties": {"a": named}}}}
    assert schema_of(own, 100)["properties"]["a"] == named


def test_a_list_of_texts_has_an_end() -> None:
    properties = schema_of(response_form("goal", WrittenGoal), 64)["properties"]
    assert properties["low_level"]["maxItems"] == 4
    assert properties["low_level"]["items"]["maxLength"] == 24
    many = schema_of(response_form("goal", WrittenGoal), 4096)["properties"]["low_level"]
    assert many["maxItems"] > 90


def test_parts_that_are_named_elsewhere_are_bounded_and_open_objects_stay_open() -> None:
    schema = schema_of(response_form("mistake", InjectorReply), 100)
    call = schema["$defs"]["WrittenCall"]["properties"]
    assert "maxLength" in call["name"]
    assert call["arguments"] == {"type": "object"}
    assert schema["properties"]["tool_calls"]["maxItems"] == 4


def test_without_a_limit_or_a_form_nothing_changes() -> None:
    for same in (
        Sampling(extra={"response_format": UNSOLVED}),
        Sampling(max_tokens=10),
        Sampling(max_tokens=10, extra={"response_format": {"type": "json_object"}}),
        Sampling(max_tokens=10, extra={"response_format": "text"}),
        Sampling(max_tokens=10, extra={"response_format": {"json_schema": [1]}}),
        Sampling(
            max_tokens=10,
            extra={
                "response_format": {
                    "json_schema": {"schema": {"properties": 1, "anyOf": 2, "items": True}}
                }
            },
        ),
        Sampling(max_tokens=10, extra={"structured_outputs": {"json": {"type": "string"}}}),
    ):
        assert bounded(same) is same
