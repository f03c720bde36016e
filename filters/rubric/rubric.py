"""A rubric as data: axes of items, each computed by a rule or judged by a model on a scale; shipped
ones and a user's own, as YAML.
"""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from synth.schemas.errors import ConfigError
from synth.schemas.settings_error import explain
from synth.schemas.strict_settings import strictly
from synth.schemas.yaml_text import read_yaml

Answer = str | int
SHIPPED = files("synth") / "data" / "rubrics"


class Scale(BaseModel):
    """Whole numbers from `low` to `high`, or named `choices` (worst first); what each means stands
    in the item's question.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: int = 1
    high: int = 5
    choices: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _of_two_at_least(self) -> "Scale":
        if self.choices and (len(set(self.choices)) != len(self.choices) or len(self.choices) < 2):
            raise ValueError("choices: give two or more different ones")
        if not self.choices and self.low >= self.high:
            raise ValueError("low must be less than high")
        return self

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All that may be answered, worst first."""
        return self.choices or tuple(range(self.low, self.high + 1))


class RubricVerdict(BaseModel):
    """An item that the judge answers; `negative` where a high answer is bad."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    kind: Literal["judged"] = "judged"
    question: str = Field(min_length=1)
    scale: Scale = Scale()
    weight: float = Field(default=1, ge=0)
    negative: bool = False


class Computed(BaseModel):
    """An item that a rule computes, by its name in `synth.filters.rubric.algorithmic`; from 0 to
    1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    kind: Literal["algorithmic"]
    rule: str
    weight: float = Field(default=1, ge=0)


Item = Annotated[RubricVerdict | Computed, Field(discriminator="kind")]


class Decides(BaseModel):
    """The judged item that says whether the task was done, and the answers that say so: what is
    compared with gold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    item: str
    accept: tuple[Answer, ...] = Field(min_length=1)


class Rubric(BaseModel):
    """`axes`: name -> items. `decides`: how the judge's view of success is read, where the rubric
    asks for one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    version: int = 1
    source: str = ""
    guidance: str = ""
    axes: dict[str, tuple[Item, ...]] = Field(min_length=1)
    decides: Decides | None = None

    @model_validator(mode="after")
    def _of_one_piece(self) -> "Rubric":
        names = [item.name for item in self.items]
        if len(set(names)) != len(names):
            raise ValueError(
                f"axes: item {next(n for n in names if names.count(n) > 1)} stands there twice"
            )
        if self.decides is not None:
            item = next((one for one in self.judged if one.name == self.decides.item), None)
            if item is None:
                raise ValueError(f"decides.item: {self.decides.item} is no judged item")
            unknown = [answer for answer in self.decides.accept if answer not in item.scale.answers]
            if unknown:
                raise ValueError(f"decides.accept: {unknown[0]!r} is no answer of {item.name}")
        return self

    @property
    def items(self) -> list[RubricVerdict | Computed]:
        """All of all axes, in their order."""
        return [item for items in self.axes.values() for item in items]

    @property
    def judged(self) -> list[RubricVerdict]:
        """Those that the judge answers."""
        return [item for item in self.items if isinstance(item, RubricVerdict)]


def shipped() -> list[str]:
    """The names of the rubrics that come with the package."""
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in SHIPPED.iterdir()
        if entry.name.endswith(".yaml")
    )


def read_rubric(name: str) -> Rubric:
    """A shipped rubric by name, or a YAML file by its path. Raises `ConfigError`."""
    try:
        if name in shipped():
            text = (SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")
        elif name.endswith((".yaml", ".yml")):
            text = Path(name).read_text(encoding="utf-8")
        else:
            raise ConfigError(
                f"rubric {name!r} is not known; known: {', '.join(shipped())}, or the path of a "
                ".yaml file"
            )
        return strictly(Rubric, read_yaml(text, f"rubric {name}"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"rubric {name}: cannot be read: {error}") from error
    except ValidationError as error:
        raise ConfigError(f"rubric {name}: {explain(error, Rubric)}") from error
