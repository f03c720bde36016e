"""The settings of the stage `reflect_retry`."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from synth.rollout.limits import Limits
from synth.stats.pdi import CarriedMemo
from synth.synthesizers.reflection.price import Prices


class ReflectRetrySettings(BaseModel):
    """Who diagnoses, what is retried, how often, within which limits.

    `reflector`: `model` asks the role `reflector_role`; `rules` reads what the check found wrong
    (its rows are `gold_informed`);
    `rules_blind` guesses from what the agent saw; `auto` is `model` where the flow has the role,
    else `rules`. `evidence`: a model is shown
    the check's findings too, which makes its rows gold-informed.
    `attempts`: so many retries in a chain, each from a turn of the one before and with the lessons
    of all before. Failures are retried,
    with `truncated` also what ran into a limit (it counts as not solved), with `inefficient` also
    successes that the reflector calls so.
    `limits`: left out, those under which the role's trials were played, so that both are judged
    alike.
    `likelihood`: kept retries are scored with and without guidance by the role `scorer`, where the
    flow has it; it needs an engine that
    gives probabilities. `off_policy_samples`: of the unguided policy at each kept retry's pivot, 0
    for none; left out, 8 of a model and
    none of a script.
    `attempts: {n: 4, memo: true}`: a memo of all attempts is whispered, not the lessons alone, and
    the online proxy of PDI measured.
    `equal_budget`: what each retry has cost is spent on four other arms too, whose episodes go into
    no data set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reflector: Literal["auto", "model", "rules", "rules_blind"] = "auto"
    reflector_role: str = "reflector"
    evidence: bool = False
    role: str = "explorer"
    attempts: int = Field(default=1, ge=1, le=20)
    memo: CarriedMemo | None = None
    per_task: int | None = Field(default=None, ge=1)
    truncated: bool = True
    inefficient: bool = False
    likelihood: bool = True
    scorer: str = "student"
    off_policy_samples: int | None = Field(default=None, ge=0, le=1000)
    equal_budget: bool = False
    prices: Prices = Prices()
    limits: Limits | None = None
    shard: int = Field(default=200, ge=1, le=1000)
    live: int | None = Field(default=None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _attempts_with_a_memo(cls, value: Any) -> Any:
        """`attempts: {n: 4, memo: true}`, or the memo's settings in place of true."""
        if not isinstance(value, Mapping) or not isinstance(value.get("attempts"), Mapping):
            return value
        given = dict(value["attempts"])
        unknown = sorted(map(str, given.keys() - {"n", "memo"}))
        if unknown or "n" not in given:
            raise ValueError(
                f"attempts: {f'{unknown[0]} is not a setting' if unknown else 'n is missing'}; "
                "give {n: 4, memo: true}"
            )
        memo = (
            {True: {}, False: None}.get(given["memo"], given["memo"])
            if isinstance(given.get("memo"), bool)
            else given.get("memo")
        )
        return {**value, "attempts": given["n"], **({} if memo is None else {"memo": memo})}

    @model_validator(mode="after")
    def _one_retry_to_compare(self) -> "ReflectRetrySettings":
        if self.equal_budget and self.attempts > 1:
            raise ValueError(
                "equal_budget compares one retry with what else its cost would buy; leave "
                "attempts at 1"
            )
        return self
