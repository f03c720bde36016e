"""The settings of TextWorld: how large a game is, how long its quest."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
)

from synth.schemas import ConfigError


class TextWorldConfig(BaseModel):
    """`quest_length` = actions of the shortest known solution of one quest, `quest_breadth` =
    subgoals of a quest, `quests` = independent
    quests. Games of `held_out` are drawn from other seeds than those of `train`, and the task's
    split says so. `explored_seed` is the
    seed of the game that is opened without a task.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rooms: int = Field(default=6, ge=1, le=20)
    objects: int = Field(default=12, ge=1, le=30)
    quest_length: int = Field(default=6, ge=1, le=12)
    quest_breadth: int = Field(default=1, ge=1, le=3)
    quests: int = Field(default=1, ge=1, le=3)
    split: Literal["train", "held_out"] = "train"
    explored_seed: int = Field(default=0, ge=-(2**63), lt=2**63)

    def of_the_game(self) -> dict[str, Any]:
        """The settings that determine the game of a seed."""
        return self.model_dump(exclude={"explored_seed"})


def validated(settings: Mapping[str, Any]) -> TextWorldConfig:
    """The settings as a config. Raises `ConfigError` that names the first setting at fault."""

    try:
        return TextWorldConfig.model_validate(dict(settings))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(["env", *(str(part) for part in first["loc"])])
        raise ConfigError(
            f"{path}: {first['msg']}; textworld's settings are: "
            f"{', '.join(TextWorldConfig.model_fields)}"
        ) from error
