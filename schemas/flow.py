"""The shell of a flow.yaml; what stands inside a stage or a model is validated by the part that it names (flows/resolve)."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

MOST_EPISODES = 200
"""Of a calibration: what it costs beside the run itself."""


class Difficulty(BaseModel):
    """The share of episodes that the policy of the role `against` is to pass; at most `episodes` are played to find the level for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target_pass_rate: float = Field(gt=0, lt=1)
    against: str = "explorer"
    episodes: int = Field(default=MOST_EPISODES, ge=40, le=MOST_EPISODES)


class EnvChoice(BaseModel):
    """Which world, how many tasks, and how hard they are to be; every other key is the world's own setting."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str
    tasks: int = Field(default=10, ge=0)
    difficulty: Difficulty | None = None

    def settings(self) -> dict[str, Any]:
        """The keys that belong to the world itself."""
        return dict(self.model_extra or {})


class StageChoice(BaseModel):
    """One stage by name, with its settings as written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    settings: Any = None


class Flow(BaseModel):
    """A flow.yaml: the only argument of a flow. Unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int = 0
    env: EnvChoice | None = None
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    stages: tuple[StageChoice, ...] = ()
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)

    @field_validator("stages", mode="before")
    @classmethod
    def _name_or_mapping(cls, value: Any) -> Any:
        """A stage is a name, or {name: settings}."""
        if not isinstance(value, list):
            return value
        stages = []
        for entry in value:
            if isinstance(entry, dict) and len(entry) == 1:
                ((name, settings),) = entry.items()
                stages.append({"name": name, "settings": settings})
            elif isinstance(entry, str):
                stages.append({"name": entry})
            else:
                stages.append(entry)
        return stages
