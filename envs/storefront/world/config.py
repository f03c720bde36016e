"""The settings of the storefront: which worlds, which mix of tasks, and the dials of difficulty."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from synth.envs.storefront.world.rules import enforceable
from synth.schemas.errors import ConfigError


class Mix(BaseModel):
    """How often each kind of task is made; weights, made to sum to one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    feasible: float = Field(default=0.4, ge=0)
    refused: float = Field(default=0.2, ge=0)
    ambiguous: float = Field(default=0.15, ge=0)
    conditional: float = Field(default=0.1, ge=0)
    stale: float = Field(default=0.1, ge=0)
    done: float = Field(default=0.05, ge=0)

    @model_validator(mode="after")
    def _positive(self) -> "Mix":
        if sum(self.model_dump().values()) <= 0:
            raise ValueError("all weights are 0: give at least one kind of task a positive weight")
        return self


class StorefrontConfig(BaseModel):
    """`variant` chooses the rules' values, the wordings and which kinds of requests stand together:
    those of `held_out` never occur in
    `train`, and the task's split says so.

    `world_seed` None lets tasks spread over worlds, `tasks_per_world` in each. Pairs are least and
    most; shares are probabilities.
    `outcome_only` lets the check pass on state and told facts alone. `facts` are start facts that
    differ from the world's own: a minimal
    pair's two tasks differ in one of them. `level` sets every dial of `settings_at` that is not
    given.
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
    operations: tuple[int, int] = (1, 6)
    ambiguity: tuple[int, int] = (2, 4)
    look_ups: tuple[int, int] = (0, 6)
    description_share: float = Field(default=0.4, ge=0, le=1)
    relation_share: float = Field(default=0.1, ge=0, le=1)
    rules_in_force: int = Field(default=15, ge=3, le=15)
    enforced_share: float = Field(default=0.47, ge=0, le=1)
    policy: Literal["terse", "plain", "verbose"] = "plain"
    page_size: int = Field(default=5, ge=1, le=20)
    verbosity: int = Field(default=0, ge=0, le=1)
    stale_events: tuple[int, int] = (1, 2)
    transient_rate: float = Field(default=0.01, ge=0, le=1)
    reticence: float = Field(default=0.25, ge=0, le=1)
    missing: float = Field(default=0.15, ge=0, le=1)
    changes_of_mind: float = Field(default=0.2, ge=0, le=1)
    false_claims: float = Field(default=0.4, ge=0, le=1)
    pressure: float = Field(default=0.3, ge=0, le=1)
    injections: float = Field(default=0.15, ge=0, le=1)
    dialogue: bool = True
    budget_slack: float | None = Field(default=None, ge=1, le=1_000)
    outcome_only: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> "StorefrontConfig":
        bounds = {
            "operations": (1, 6),
            "ambiguity": (2, 4),
            "look_ups": (0, 6),
            "stale_events": (0, 2),
        }
        for name, (least, most) in bounds.items():
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
        most_enforced = len(enforceable(self.rules_in_force))
        if round(self.enforced_share * self.rules_in_force) > most_enforced:
            share = (
                f"{most_enforced} of the {self.rules_in_force} rules in force, a share of "
                f"{most_enforced / self.rules_in_force:.2f}"
            )
            raise ValueError(f"enforced_share {self.enforced_share}: tools can hold {share}")
        return self


OF_THE_WORLD = (
    *(
        "customers",
        "orders",
        "variant",
        "rules_in_force",
        "enforced_share",
        "policy",
        "page_size",
        "verbosity",
        "transient_rate",
    ),
    "dialogue",
)
"""Settings that an episode needs beside world seed and facts: a task carries them in its
`env_config`.
"""


_OPERATIONS = ((1, 1), (1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (4, 6), (5, 6), (6, 6))
_AMBIGUITY = ((2, 2), (2, 3), (2, 4), (3, 4))
_STALE_EVENTS = ((1, 1), (1, 2), (2, 2))
STEPS = len(_OPERATIONS) - 1
"""Between the easiest level and the hardest: what has no values between steps changes at them."""


def settings_at(level: float) -> dict[str, Any]:
    """The dials that make a task hard as functions of one number between 0 (easiest) and 1."""
    return {
        "operations": _OPERATIONS[round(level * STEPS)],
        "mix": {
            "feasible": 1 - 0.95 * level,
            "refused": 0.3 * level,
            "ambiguous": 0.5 * level,
            "conditional": 0.2 * level,
            "stale": 0.3 * level,
            "done": 0.05 * level,
        },
        "ambiguity": _AMBIGUITY[min(int(level * len(_AMBIGUITY)), len(_AMBIGUITY) - 1)],
        "stale_events": _STALE_EVENTS[min(int(level * len(_STALE_EVENTS)), len(_STALE_EVENTS) - 1)],
        "description_share": level,
        "relation_share": 0.5 * level,
        "enforced_share": 0.6 - 0.4 * level,
        "missing": 0.9 * level,
        "changes_of_mind": 0.9 * level,
        "reticence": 0.6 * level,
        "false_claims": level,
        "pressure": level,
        "injections": 0.5 * level,
        "transient_rate": 0.08 * level,
        "verbosity": int(level > 0.5),
        "page_size": round(6 - 3 * level),
    }


def validated(settings: Mapping[str, Any], where: str = "env") -> StorefrontConfig:
    """The settings as a config, dials set by the level where there is one. Raises `ConfigError`
    that names the first setting at fault.
    """
    try:
        given = StorefrontConfig.model_validate(dict(settings))
        return (
            given
            if given.level is None
            else StorefrontConfig.model_validate({**settings_at(given.level), **settings})
        )
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join([where, *(str(part) for part in first["loc"])])
        allowed = ", ".join(StorefrontConfig.model_fields)
        raise ConfigError(
            f"{path}: {first['msg']}; storefront's settings are: {allowed}"
        ) from error
