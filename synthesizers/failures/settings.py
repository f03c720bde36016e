"""What a flow may say of the stage `failure_injection`."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from synth.engine.study.method import Method
from synth.rollout.limits import Limits
from synth.text.failure_modes import SINGLE_AGENT, mast_weights

NATURAL_TEMPERATURE = 1.3
"""At which a chat model is sampled for errors of its own, unless the settings say otherwise."""
Strategy = Literal["natural", "rule", "role", "environment", "prompt"]


def _strategies() -> dict[Strategy, float]:
    return {"natural": 1.0, "rule": 1.0, "role": 1.0, "environment": 0.5, "prompt": 0.5}


def _known_modes(value: dict[str, float]) -> dict[str, float]:
    for code in value.keys() - set(SINGLE_AGENT):
        raise ValueError(
            f"{code!r} is no failure mode that a single agent shows; known: "
            f"{', '.join(SINGLE_AGENT)}"
        )
    return value


def _weights(value: dict[Any, float]) -> dict[Any, float]:
    if not any(value.values()) or not all(0 <= one < float("inf") for one in value.values()):
        raise ValueError("weights are numbers from 0 on, one of them above 0")
    return value


class InjectionSettings(Method):
    """How many injected runs per task, of which kinds, by whom, how tested.

    `strategies`: weights of: errors that the policy makes itself when it is sampled (`natural`), by
    rules (`rule`), written by the role
    `injector` (`role`, where the flow has it), planted in the world's answers (`environment`), made
    by the policy itself where it
    reads what the injector slips in (`prompt`). `modes`: weights of the failure modes.
    `evidence`: `live` continuations of the role on both sides; or `replay` of the recorded rest,
    which says only whether that still works.
    `repairs`: failed trials per task for which the other flip is looked for, with what the role
    `corrector` and the world's expert would
    do, as far as there are such, at most `repair_rounds` tests of each. `controls`: share of the
    tests beside which the recorded turn
    is tested against itself. `round`: attempts before the first look at what the modes yield; each
    later round is twice as long. Without
    `limits` those of the flow's rollout hold; `live` as for a rollout.
    """

    per_task: int = Field(default=2, ge=0, le=1000)
    per_twin: int = Field(default=4, ge=1)
    modes: Annotated[dict[str, float], AfterValidator(_known_modes), AfterValidator(_weights)] = (
        Field(default_factory=mast_weights)
    )
    strategies: Annotated[dict[Strategy, float], AfterValidator(_weights)] = Field(
        default_factory=_strategies
    )
    role: str = "explorer"
    injector: str = "injector"
    corrector: str = "corrector"
    evidence: Literal["live", "replay"] = "live"
    natural_draws: int = Field(default=8, ge=1, le=64)
    natural_temperature: float = Field(default=NATURAL_TEMPERATURE, gt=0, le=2)
    repairs: int = Field(default=0, ge=0, le=1000)
    repair_rounds: int = Field(default=3, ge=1, le=20)
    controls: float = Field(default=0.05, ge=0, le=1)
    limits: Limits | None = None
    round: int = Field(default=40, ge=1, le=1000)
    live: int | None = Field(default=None, ge=1)
