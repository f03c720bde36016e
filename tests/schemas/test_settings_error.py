"""What a settings model refuses is told without a word of Python."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synth.schemas.text.settings import explain


class Price(BaseModel):
    model_config = ConfigDict(extra="forbid")
    input: float = 1.0


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    trials: int = Field(default=1, ge=1, le=9)
    share: float = Field(default=0.5, gt=0, lt=1, allow_inf_nan=False)
    name: str = Field(default="a", min_length=1)
    form: Literal["trl", "openai"] = Field(default="trl", alias="as")
    quiet: bool = False
    price: Price | None = None
    prices: list[Price] = []
    pair: tuple[int, ...] = Field(default=(1, 2), min_length=2)
    names: dict[str, int] = {}
    weights: dict[Literal["rule", "role"], float] = {}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"trials": "many"}, "x.trials: must be a whole number"),
        ({"trials": 1.5}, "x.trials: must be a whole number"),
        ({"trials": None}, "x.trials: must be a whole number"),
        ({"trials": 0}, "x.trials: must be at least 1"),
        ({"trials": 10}, "x.trials: must be at most 9"),
        ({"share": "a"}, "x.share: must be a number"),
        ({"share": float("nan")}, "x.share: must be a finite number"),
        ({"share": 0}, "x.share: must be more than 0"),
        ({"share": 1}, "x.share: must be less than 1"),
        (
            {"name": 5},
            "x.name: must be text (in quotes where it looks like a number, a date or yes/no)",
        ),
        ({"name": ""}, "x.name: must have at least 1 characters"),
        ({"as": "csv"}, "x.as: must be one of 'trl' or 'openai'"),
        ({"quiet": "perhaps"}, "x.quiet: must be true or false"),
        ({"pair": 3}, "x.pair: must be a list"),
        ({"pair": [1]}, "x.pair: must have at least 2 entries"),
        ({"price": 3}, "x.price: must be a mapping of settings; allowed: input"),
        ({"price": {"output": 1}}, "x.price.output is not a setting; allowed: input"),
        ({"prices": [{"output": 1}]}, "x.prices[0].output is not a setting; allowed: input"),
        ({"names": {1: 1}}, "x.names[1]: a key here is no text; put it in quotes"),
        (
            {"weights": {"rules": 1}},
            "x.weights.rules is not a setting: a key must be one of 'rule' or 'role'",
        ),
        (
            3,
            "x: must be a mapping of settings; allowed: as, mine, name, names, pair, price, "
            "prices, quiet, share, trials, weights",
        ),
        (
            {"trails": 1},
            "x.trails is not a setting; allowed: as, mine, name, names, pair, price, prices, "
            "quiet, share, trials, weights",
        ),
        ({"trails": 1, "trials": 0}, "x.trials: must be at least 1 (and 1 more)"),
    ],
)
def test_each_kind_of_mistake_has_its_own_words(given: Any, line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(given)
    assert explain(caught.value, Settings, "x", ["mine"]) == line


def test_values_are_never_shown_since_one_may_be_a_key() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"trials": "sk-secret"})
    assert "sk-secret" not in explain(caught.value, Settings)
