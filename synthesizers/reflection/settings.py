"""The settings of the stage `reflect_retry`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from synth.rollout.limits import Limits
from synthesizers.reflection.price import Prices


class ReflectRetrySettings(BaseModel):
    """Who diagnoses, what is retried, how often, within which limits.

    `reflector`: `model` asks the role `reflector_role`; `rules` reads what the check found wrong (its rows are `gold_informed`);
    `rules_blind` guesses from what the agent saw; `auto` is `model` where the flow has the role, else `rules`. `evidence`: a model is shown
    the check's findings too, which makes its rows gold-informed.
    `attempts`: so many retries in a chain, each from a turn of the one before and with the lessons of all before. Failures are retried,
    with `truncated` also what ran into a limit (it counts as not solved), with `inefficient` also successes that the reflector calls so.
    `limits`: left out, those under which the role's trials were played, so that both are judged alike.
    `equal_budget`: what each retry has cost is spent on four other arms too, whose episodes go into no data set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reflector: Literal["auto", "model", "rules", "rules_blind"] = "auto"
    reflector_role: str = "reflector"
    evidence: bool = False
    role: str = "explorer"
    attempts: int = Field(default=1, ge=1, le=20)
    per_task: int | None = Field(default=None, ge=1)
    truncated: bool = True
    inefficient: bool = False
    equal_budget: bool = False
    prices: Prices = Prices()
    limits: Limits | None = None
    shard: int = Field(default=200, ge=1, le=1000)
    live: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _one_retry_to_compare(self) -> "ReflectRetrySettings":
        if self.equal_budget and self.attempts > 1:
            raise ValueError("equal_budget compares one retry with what else its cost would buy; leave attempts at 1")
        return self
