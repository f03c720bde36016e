"""What a flow may set of the stage `topology`, and what its answers are masked by."""

import re
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field, field_validator

from synth.topology.embeddings import missing
from synth.topology.keys import Level
from synth.topology.nondeterminism.fields import Field as NondeterministicField
from synth.topology.nondeterminism.fields import as_masks
from synth.topology.nondeterminism.masking import DEFAULTS, Nondeterminism
from synth.topology.semantic import SIMILARITY


class TopologySettings(BaseModel):
    """`level`: how turns are merged; `group`: trials per task in the RL that tasks are ranked for.

    `similarity` is what texts must reach to be one at level semantic.
    `learn` trials of each environment are done again, to learn what it answers differently each
    time; left out, four of each deterministic one.
    `masked` and `generated` add to what observations differ in without meaning it: name -> regular
    expression (docs/topology.md).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level = "exact"
    similarity: float = Field(default=SIMILARITY, gt=0, le=1)
    group: int = Field(default=8, ge=2, le=1024)
    learn: int | None = Field(default=None, ge=0, le=1000)
    masked: dict[str, str] = {}
    generated: dict[str, str] = {}

    @field_validator("level")
    @classmethod
    def _installed(cls, level: Level) -> Level:
        """Level `semantic` needs an encoder that is not always installed."""
        told = missing() if level == "semantic" else None
        if told is not None:
            raise ValueError(told)
        return level

    @field_validator("masked", "generated")
    @classmethod
    def _patterns_of_something(cls, patterns: dict[str, str]) -> dict[str, str]:
        """Refuses what is no regular expression, and what matches between any two characters."""
        for name, pattern in patterns.items():
            try:
                found = re.compile(pattern).match("")
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(
                    f"{name}: {pattern!r} is no regular expression: {error}"
                ) from error

            if found is not None:
                raise ValueError(
                    f"{name}: {pattern!r} matches the empty text, and so stands between any two "
                    "characters; ask for one at least"
                )

        return patterns

    @property
    def usual(self) -> Nondeterminism:
        """The masks of environments that taught nothing."""
        return Nondeterminism({**DEFAULTS, **self.masked}, self.generated)

    def masks(
        self, fields: Iterable[tuple[str, NondeterministicField]]
    ) -> dict[str, Nondeterminism]:
        """Environment -> what its answers are masked by, for those that taught something."""
        found: dict[str, list[NondeterministicField]] = {}
        for environment, one in fields:
            found.setdefault(environment, []).append(one)

        masked = {**DEFAULTS, **self.masked}
        return {
            environment: Nondeterminism(masked, self.generated, *as_masks(kept))
            for environment, kept in found.items()
        }
