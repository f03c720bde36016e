"""A rubric as data: axes of items, each computed by a rule or judged by a model on a scale; shipped
ones and a user's own, as YAML.
"""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from synth.schemas import ConfigError, FilterSettings, explain, read_yaml, strictly

Answer = str | int
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Weight = Annotated[float, Field(ge=0)]
SHIPPED = files("synth") / "data" / "rubrics"


class Scale(FilterSettings):
    """Whole numbers from `low` to `high`, or named `choices` (worst first); what each means stands
    in the item's question.
    """

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

    def value(self, answer: Answer) -> float:
        """Of an answer that is allowed: the number, or the position of the choice (0 = the
        worst).
        """
        return float(self.choices.index(str(answer)) if self.choices else answer)

    def unit(self, value: float) -> float:
        """A value as a share of the scale, from 0 (worst) to 1."""
        low, high = (self.value(answer) for answer in (self.answers[0], self.answers[-1]))
        return (value - low) / (high - low)


class Judged(FilterSettings):
    """An item that the judge answers; `negative` where a high answer is bad."""

    name: Name
    kind: Literal["judged"] = "judged"
    question: str = Field(min_length=1)
    scale: Scale = Scale()
    weight: Weight = 1
    negative: bool = False


class Computed(FilterSettings):
    """An item that a rule computes, by its name in `synth.filters.rubric.algorithmic`; from 0 to
    1.
    """

    name: Name
    kind: Literal["algorithmic"]
    rule: str
    weight: Weight = 1


Item = Annotated[Judged | Computed, Field(discriminator="kind")]


class Decides(FilterSettings):
    """The judged item that says whether the task was done, and the answers that say so: what is
    compared with gold.
    """

    item: str
    accept: tuple[Answer, ...] = Field(min_length=1)


class Rubric(FilterSettings):
    """`axes`: name -> items. `decides`: how the judge's view of success is read, where the rubric
    asks for one.
    """

    name: Name
    version: int = 1
    source: str = ""
    guidance: str = ""
    axes: dict[str, tuple[Item, ...]] = Field(min_length=1)
    decides: Decides | None = None

    @model_validator(mode="after")
    def _of_one_piece(self) -> "Rubric":
        names = [item.name for item in self.items]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"axes: item {twice[0]} stands there twice")

        if self.decides is None:
            return self
        if self.deciding is None:
            raise ValueError(f"decides.item: {self.decides.item} is no judged item")

        for answer in self.decides.accept:
            if answer not in self.deciding.scale.answers:
                raise ValueError(f"decides.accept: {answer!r} is no answer of {self.decides.item}")

        return self

    @property
    def items(self) -> list[Judged | Computed]:
        """All of all axes, in their order."""
        return [item for items in self.axes.values() for item in items]

    @property
    def judged(self) -> list[Judged]:
        """Those that the judge answers."""
        return [item for item in self.items if isinstance(item, Judged)]

    @property
    def deciding(self) -> Judged | None:
        """The item that `decides` names."""
        wanted = None if self.decides is None else self.decides.item
        return next((item for item in self.judged if item.name == wanted), None)


def shipped() -> list[str]:
    """The names of the rubrics that come with the package."""
    return sorted(Path(entry.name).stem for entry in SHIPPED.iterdir())


def read_rubric(name: str) -> Rubric:
    """A shipped rubric by name, or a YAML file by its path. Raises `ConfigError`."""
    place = SHIPPED / f"{name}.yaml" if name in shipped() else Path(name)
    if not place.name.endswith((".yaml", ".yml")):
        raise ConfigError(
            f"rubric {name!r} is not known; known: {', '.join(shipped())}, or the path of a .yaml "
            "file"
        )

    try:
        return strictly(Rubric, read_yaml(place.read_text(encoding="utf-8"), f"rubric {name}"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"rubric {name}: cannot be read: {error}") from error
    except ValidationError as error:
        raise ConfigError(f"rubric {name}: {explain(error, Rubric)}") from error
