"""The settings of the storefront: which worlds, which mix of tasks, and the dials of difficulty."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.policy import enforceable
from synth.schemas import ConfigError

Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]
Range = tuple[int, int]
DIALS = texts("dials")
"""How settings depend on the level: lines of start and slope, and lists of values to step
through; the least and the most that ranges may have.
"""


class Mix(BaseModel):
    """How often each kind of task is made; weights, made to sum to one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    feasible: Weight = 0.4
    refused: Weight = 0.2
    ambiguous: Weight = 0.15
    conditional: Weight = 0.1
    stale: Weight = 0.1
    done: Weight = 0.05

    @model_validator(mode="after")
    def _positive(self) -> "Mix":
        """Refuses a mix of which no kind of task can be drawn."""
        if sum(self.model_dump().values()) <= 0:
            raise ValueError("all weights are 0: give at least one kind of task a positive weight")

        return self


class StorefrontConfig(BaseModel):
    """`variant` chooses the rules' values, the wordings and which kinds of requests stand together:
    those of `held_out` never occur in `train`, and the task's split says so.

    `world_seed` None lets tasks spread over worlds, `tasks_per_world` in each. Pairs are least and
    most; shares are probabilities. `outcome_only` lets the check pass on state and told facts
    alone; without `words` tools have no messages, and no text is delivered. `facts` are start facts
    that differ from the world's own: a minimal pair's two tasks differ in one of them. `level` sets
    every dial of `settings_at` that is not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world_seed: int | None = Field(default=None, gt=-(2**70), lt=2**70)
    tasks_per_world: int = Field(default=8, ge=1, le=1_000_000)
    variant: Literal["train", "held_out"] = "train"
    level: float | None = Field(default=None, ge=0, le=1)
    customers: int = Field(default=32, ge=30, le=60)
    orders: int = Field(default=122, ge=80, le=200)
    facts: Mapping[str, str | int | float | bool | None] = {}
    mix: Mix = Mix()
    operations: Range = (1, 6)
    ambiguity: Range = (2, 4)
    look_ups: Range = (0, 6)
    description_share: Share = 0.4
    relation_share: Share = 0.1
    rules_in_force: int = Field(default=15, ge=3, le=15)
    enforced_share: Share = 0.47
    policy: Literal["terse", "plain", "verbose"] = "plain"
    page_size: int = Field(default=5, ge=1, le=20)
    verbosity: int = Field(default=0, ge=0, le=1)
    stale_events: Range = (1, 2)
    transient_rate: Share = 0.01
    reticence: Share = 0.25
    missing: Share = 0.15
    changes_of_mind: Share = 0.2
    false_claims: Share = 0.4
    pressure: Share = 0.3
    injections: Share = 0.15
    dialogue: bool = True
    budget_slack: float | None = Field(default=None, ge=1, le=1_000)
    outcome_only: bool = False
    words: bool = True

    @model_validator(mode="after")
    def _ordered(self) -> "StorefrontConfig":
        """Refuses ranges the wrong way round, and dials that contradict each other."""
        for name, (least, most) in DIALS["bounds"].items():
            low, high = getattr(self, name)

            if not least <= low <= high <= most:
                raise ValueError(
                    f"{name} {low}..{high}: the least must be {least} or more, the most {most} or "
                    "fewer"
                )

        if self.mix.stale and self.stale_events[1] == 0:
            raise ValueError(
                f"stale_events 0..0 with mix.stale {self.mix.stale}: allow an event, or set "
                "mix.stale to 0"
            )

        # some rules are about words, which no tool can hold
        most_held = len(enforceable(self.rules_in_force))

        if round(self.enforced_share * self.rules_in_force) > most_held:
            raise ValueError(
                f"enforced_share {self.enforced_share}: tools can hold {most_held} of the "
                f"{self.rules_in_force} rules in force, a share of "
                f"{most_held / self.rules_in_force:.2f}"
            )

        return self


OF_THE_WORLD = (
    "customers",
    "orders",
    "variant",
    "rules_in_force",
    "enforced_share",
    "policy",
    "page_size",
    "verbosity",
    "transient_rate",
    "dialogue",
)
"""Settings that an episode needs beside world seed and facts: a task carries them in its
`env_config`.
"""
STEPS = len(DIALS["operations"]) - 1
"""Between the easiest level and the hardest: what has no values between steps changes at them."""


def settings_at(level: float) -> dict[str, Any]:
    """The dials that make a task hard as functions of one number between 0 (easiest) and 1."""

    def on_lines(dials: Mapping[str, Sequence[float]]) -> dict[str, Any]:
        """The values of dials with a start and a slope."""
        return {name: start + slope * level for name, (start, slope) in dials.items()}

    steps = {
        name: values[min(int(level * len(values)), len(values) - 1)]
        for name, values in DIALS["steps"].items()
    }

    return {
        **on_lines(DIALS["lines"]),
        **steps,
        "mix": on_lines(DIALS["mix"]),
        "operations": tuple(DIALS["operations"][round(level * STEPS)]),
        "verbosity": int(level > 0.5),
        "page_size": round(6 - 3 * level),
    }


def validated(
    settings: Mapping[str, Any],
    where: str = "env",
) -> StorefrontConfig:
    """The settings as a config, dials set by the level where there is one.

    Raises `ConfigError` that names the first setting at fault.
    """
    try:
        given = StorefrontConfig.model_validate(dict(settings))

        if given.level is None:
            return given

        return StorefrontConfig.model_validate({**settings_at(given.level), **settings})
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join([where, *(str(part) for part in first["loc"])])
        allowed = ", ".join(StorefrontConfig.model_fields)

        raise ConfigError(
            f"{path}: {first['msg']}; storefront's settings are: {allowed}"
        ) from error
