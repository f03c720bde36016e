"""What is said of a repository world: what its tasks carry, and what its user alone says."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from synth.confinement import ProcessLimits

Name = Annotated[str, Field(max_length=60)]


class RepoConfig(BaseModel):
    """What tasks carry. `kinds`, `libraries` and `tiers` choose among the pool's tasks, all where
    they are empty; `output_chars` is the most that is shown of one command's output; `digest` pins
    the pool.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kinds: tuple[Name, ...] = Field(default=(), max_length=20)
    libraries: tuple[Name, ...] = Field(default=(), max_length=100)
    tiers: tuple[Annotated[int, Field(ge=0, le=9)], ...] = Field(default=(), max_length=10)
    output_chars: int = Field(default=8000, ge=500, le=50_000)
    explored_seed: int = Field(default=0, ge=0, lt=2**31)
    digest: str | None = Field(default=None, max_length=100)


class RepoSettings(BaseModel):
    """What only the user says: the folder of tasks, how long one command and one run of tests may
    take (wall clock), what all processes of one command may hold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pool: str
    command_s: float = Field(default=60.0, gt=0, le=3600)
    tests_s: float = Field(default=120.0, gt=0, le=3600)
    limits: ProcessLimits = ProcessLimits()

    @property
    def folder(self) -> Path:
        """Where the pool lies."""
        return Path(self.pool).expanduser().absolute()
