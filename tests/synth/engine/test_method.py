"""A method of collection is a class: its annotated fields are its settings."""

import pytest
from pydantic import Field, ValidationError

from synth.engine.study.method import Method, synthesizer
from synth.schemas.errors import ConfigError


@synthesizer("counting")
class Counting(Method):
    """Counts."""

    unit = "things"

    role: str = "explorer"
    most: int = Field(default=3, ge=1)


def test_annotated_fields_are_the_settings_and_what_has_no_annotation_is_none() -> None:
    assert list(Counting.config.model_fields) == ["role", "most"]
    assert (Counting().most, Counting(most=5).most, Counting(most=5).role) == (3, 5, "explorer")
    assert Counting.method == "counting"


def test_settings_that_do_not_fit_are_refused_where_the_method_is_made() -> None:
    with pytest.raises(ValidationError, match="most"):
        Counting(most=0)
    with pytest.raises(ValidationError, match="extra"):
        Counting(least=1)  # type: ignore[call-arg]


def test_a_setting_named_as_a_function_of_the_method_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"Wrong\.inputs: a setting cannot have the name"):

        class Wrong(Method):
            inputs: str = "all"  # type: ignore[assignment]
