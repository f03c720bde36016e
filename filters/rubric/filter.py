"""The filter `rubric`: a judge answers a rubric's questions K times; it decides only where it was
shown to agree with gold in this run.

What it asks, how replies are read and when it may decide: docs/rubrics.md.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

from msgspec import to_builtins
from pydantic import Field, computed_field, field_validator, model_validator

from synth.engine.asking import TOO_LONG, SourceMeans
from synth.filters.judge import NoDrawsError, draws
from synth.filters.rubric.algorithmic import RULES
from synth.filters.rubric.asking import Structured, drawn, read
from synth.filters.rubric.rubric import Answer, Computed, Rubric, read_rubric
from synth.filters.rubric.scoring import Rating, item_measure, overall, sampling_weight
from synth.schemas import (
    JUDGED,
    Case,
    Cases,
    ConfigError,
    Filter,
    FilterResult,
    FilterSettings,
    Measure,
    Outcome,
    Verdict,
    content_hash,
)
from synth.stats.agreement import Item, agreement, line


class RubricConfig(FilterSettings):
    """`rubric`: a shipped one's name or a .yaml file; `samples`: K. `drop_below`: item -> the least
    answer that is kept.

    A judge that has not agreed with gold on `min_items` trajectories of an environment, with
    `min_kappa`, drops nothing there.
    """

    rubric: str = "fintrace"
    role: str = "judge"
    samples: int = Field(default=3, ge=1, le=25)
    temperature: float = Field(default=0.5, ge=0, le=2)
    structured: Structured = "json_schema"
    drop_below: dict[str, Answer] = Field(default_factory=dict)
    min_items: int = Field(default=50, ge=1)
    min_kappa: float = Field(default=0.4, ge=-1, le=1)

    @cached_property
    def found(self) -> Rubric:
        """The rubric itself, read once: a file that changes while a run goes on changes nothing."""
        return read_rubric(self.rubric)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def digest(self) -> str:
        """What a rubric's file says, so that another text is judged anew."""
        return content_hash(self.found.model_dump(mode="json"))

    @property
    def least(self) -> dict[str, float]:
        """Item -> the least value that is kept, as its scale counts."""
        judged = {item.name: item.scale for item in self.found.judged}
        return {name: judged[name].value(answer) for name, answer in self.drop_below.items()}

    @field_validator("rubric")
    @classmethod
    def _readable(cls, name: str) -> str:
        try:
            read_rubric(name)
        except ConfigError as error:
            raise ValueError(str(error)) from error

        return name

    @model_validator(mode="after")
    def _of_the_rubric(self) -> "RubricConfig":
        rubric = self.found
        for item in rubric.items:
            if isinstance(item, Computed) and item.rule not in RULES:
                raise ValueError(
                    f"rubric {rubric.name}: {item.name}: rule {item.rule!r} is not known; known: "
                    f"{', '.join(sorted(RULES))}"
                )

        judged = {item.name: item for item in rubric.judged}
        for name, least in self.drop_below.items():
            if name not in judged:
                raise ValueError(f"drop_below: {name} is no judged item of rubric {rubric.name}")
            if judged[name].negative or least not in judged[name].scale.answers:
                raise ValueError(
                    f"drop_below.{name}: {least!r} is no answer that more of is better"
                )

        if self.drop_below and rubric.decides is None:
            raise ValueError(
                f"drop_below: rubric {rubric.name} asks for no verdict on success, so its judge "
                "cannot be compared with gold"
            )

        return self


async def measure(case: Case, config: RubricConfig, means: SourceMeans) -> Sequence[Measure]:
    """Every item of one trajectory, its score, and its weight where the rubric gives one.

    A judge's fault is handed on as such, and asked again next time.
    """
    rubric = config.found
    measures = list(_computed(rubric, case))

    if rubric.judged:
        # a role's own extra settings stand; the form of the reply is added to them
        drawing = partial(
            drawn,
            rubric,
            case,
            temperature=config.temperature,
            structured=config.structured,
            extra=means.role(config.role).policy.sampling.get("extra") or {},
        )
        questions = map(drawing, range(config.samples))
        reader, too_long = partial(read, rubric), Rating(why=TOO_LONG)

        try:
            readings, unread = await draws(means, config.role, questions, reader, too_long)
        except NoDrawsError as lost:
            return lost.measures(f"{rubric.name}.score")

        for judged in rubric.judged:
            answers = [reading[judged.name] for reading in readings]
            measures.append(item_measure(rubric, judged, answers, unread))

    values = {one.metric.removeprefix(f"{rubric.name}."): one.value for one in measures}
    weight = sampling_weight(rubric, values)
    return [*measures, overall(rubric, values), *([weight] if weight is not None else [])]


def _computed(rubric: Rubric, case: Case) -> Iterator[Measure]:
    """The items that rules compute."""
    for item in rubric.items:
        if isinstance(item, Computed):
            one = RULES[item.rule](case)
            about = Rating(reason=one.reason) if one.reason else None
            yield Measure(f"{rubric.name}.{item.name}", one.value, about=about)


async def judge(cases: Cases, config: RubricConfig) -> FilterResult:
    """Keep and drop where the judge may decide; undefined, with the score, where it is a column
    only.

    Beside the verdicts: a line per environment, and its agreement with gold as scores.
    """
    rubric = config.found
    notes, measures, deciding = [], {}, dict[str, str]()

    for env, of_env in sorted(_gold_decided(rubric, cases).items()):
        found = agreement(of_env, int(content_hash([config.digest, env], size=6), 16))
        why_not = found.why_not(config.min_items, config.min_kappa)
        notes.append(line(env, found, why_not))
        deciding |= {env: notes[-1]} if why_not is None else {}
        measures[f"judge:{rubric.name}:{env}"] = found.measures(rubric.name)

    verdicts = {
        case.trajectory.trajectory_id: _verdict(case, config, deciding.get(case.trajectory.env))
        for case in cases
    }
    return FilterResult(verdicts, notes, measures)


def _gold_decided(rubric: Rubric, cases: Cases) -> dict[str, list[Item]]:
    """By environment, what gold and the judge have both decided: it tells how far the judge may be
    believed there.
    """
    items: dict[str, list[Item]] = {}

    for case in cases:
        accepts, outcome = _accepts(rubric, case), case.trajectory.outcome
        if accepts is not None and outcome in (Outcome.SUCCESS, Outcome.FAILURE):
            item = (case.trajectory.task_id, accepts, outcome is Outcome.SUCCESS)
            items.setdefault(case.trajectory.env, []).append(item)

    return items


def _accepts(rubric: Rubric, case: Case) -> bool | None:
    """Whether the judge takes it for a success; None where it was not asked, or gave no value.

    An answer above the least accepted one is accepted too.
    """
    item, decides = rubric.deciding, rubric.decides
    value = None if item is None else _value(rubric, case, item.name)
    if item is None or decides is None or value is None:
        return None

    return value >= min(map(item.scale.value, decides.accept))


def _value(rubric: Rubric, case: Case, item: str) -> float | None:
    """Of an item, or of the whole (`score`)."""
    return next((one.value for one in case.measures if one.metric == f"{rubric.name}.{item}"), None)


def _verdict(case: Case, config: RubricConfig, agreement: str | None) -> Verdict:
    """A judge that may not decide (without `agreement`) gives a score and no verdict; so does a
    flow that drops nothing.
    """
    score = _value(config.found, case, "score")

    abouts: list[Rating] = [one.about for one in case.measures if one.about is not None]
    fault = next((one for one in abouts if one.fault is not None), None)

    if fault is not None or not case.measures:
        return Verdict(None, "judge_fault", detail=to_builtins(fault) or {})
    if any(one.why == TOO_LONG for one in abouts):
        return Verdict(None, TOO_LONG)
    if not config.drop_below:
        return Verdict(None, "scored", score)

    if agreement is None:
        return Verdict(None, "judge_not_calibrated", score)

    for name, least in config.least.items():
        value = _value(config.found, case, name)
        if value is None:
            return Verdict(None, f"{name}_undefined", score)
        if value < least:
            return Verdict(False, f"{name}_low", score)

    # where gold has decided, what the judge says comes on top of it
    alone = case.trajectory.outcome is Outcome.UNKNOWN
    return Verdict(True, "above", score, {JUDGED: agreement} if alone else {})


FILTER = Filter(
    RubricConfig,
    judge,
    scope="corpus",
    about=Rating,
    measure=measure,
    measured=("digest", "samples", "temperature", "structured", "role"),
    version=3,
    roles=lambda config: (config.role,) if config.found.judged else (),
)
