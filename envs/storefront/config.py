"""The settings of the storefront."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.errors import ConfigError


class StorefrontConfig(BaseModel):
    """Which worlds, and how hard their tasks are.

    `world_seed` None lets tasks spread over worlds, `tasks_per_world` in each; `operations` is the least and the most requests of
    a task; `refusal_share` and `ambiguous_share` are probabilities per task and per description.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world_seed: int | None = None
    tasks_per_world: int = Field(default=8, ge=1)
    customers: int = Field(default=32, ge=30, le=60)
    orders: int = Field(default=122, ge=80, le=200)
    operations: tuple[int, int] = (1, 6)
    refusal_share: float = Field(default=0.18, ge=0, le=1)
    description_share: float = Field(default=0.5, ge=0, le=1)
    ambiguous_share: float = Field(default=0.35, ge=0, le=1)

    @model_validator(mode="after")
    def _ordered(self) -> "StorefrontConfig":
        low, high = self.operations
        if not 1 <= low <= high <= 6:
            raise ValueError(f"operations {low}..{high}: the least must be 1 or more, the most 6 or fewer")
        return self


def validated(settings: Mapping[str, Any], where: str = "env") -> StorefrontConfig:
    """The settings as a config. Raises `ConfigError` that names the first setting at fault."""
    try:
        return StorefrontConfig.model_validate(dict(settings))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join([where, *(str(part) for part in first["loc"])])
        allowed = ", ".join(StorefrontConfig.model_fields)
        raise ConfigError(f"{path}: {first['msg']}; storefront's settings are: {allowed}") from error
