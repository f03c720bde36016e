"""The filter `rubric`: a judge answers a rubric's questions K times; it decides only where it was
shown to agree with gold in this run.
"""

from collections.abc import Sequence
from functools import partial

from msgspec import to_builtins
from pydantic import Field, field_validator, model_validator

from synth.engine.asking import TOO_LONG, SourceMeans, told
from synth.filters.rubric.algorithmic import RULES
from synth.filters.rubric.asking import Structured, drawn, read
from synth.filters.rubric.rubric import Answer, Computed, Rubric, read_rubric
from synth.filters.rubric.scoring import Rating, enough, item_measure, overall, sampling_weight
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.filter import Case, Cases, Filter, FilterResult, FilterSettings, Measure
from synth.schemas.outcome import Outcome
from synth.schemas.verdict import Verdict
from synth.stats.agreement import Agreement, Item, agreement, line


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
    digest: str = ""

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
        found = read_rubric(self.rubric)
        for item in found.items:
            if isinstance(item, Computed) and item.rule not in RULES:
                raise ValueError(
                    f"rubric {found.name}: {item.name}: rule {item.rule!r} is not known; known: "
                    f"{', '.join(sorted(RULES))}"
                )
        for name, least in self.drop_below.items():
            judged = next((one for one in found.judged if one.name == name), None)
            if judged is None:
                raise ValueError(f"drop_below: {name} is no judged item of rubric {found.name}")
            if judged.negative or least not in judged.scale.answers:
                raise ValueError(
                    f"drop_below.{name}: {least!r} is no answer that more of is better"
                )
        if self.drop_below and found.decides is None:
            raise ValueError(
                f"drop_below: rubric {found.name} asks for no verdict on success, so its judge "
                "cannot be compared with gold"
            )
        digest = content_hash(found.model_dump(mode="json"))
        if self.digest not in ("", digest):
            raise ValueError("digest: is computed, leave it out")
        object.__setattr__(self, "digest", digest)
        return self


async def measure(case: Case, config: RubricConfig, means: SourceMeans) -> Sequence[Measure]:
    """Every item of one trajectory; a judge's fault is handed on as such, and asked again next
    time.
    """
    rubric = read_rubric(config.rubric)
    computed = {
        item.name: RULES[item.rule](case) for item in rubric.items if isinstance(item, Computed)
    }
    measures = [
        Measure(
            f"{rubric.name}.{name}",
            one.value,
            about=Rating(reason=one.reason) if one.reason else None,
        )
        for name, one in computed.items()
    ]
    values: dict[str, float | None] = {name: one.value for name, one in computed.items()}
    if rubric.judged:
        role = means.role(config.role)
        extra = role.policy.sampling.get("extra") or {}
        readings, unread = [], []
        for draw in range(config.samples):
            question = drawn(
                rubric,
                case,
                draw,
                temperature=config.temperature,
                structured=config.structured,
                extra=extra,
            )
            answer = await means.ask(config.role, question, partial(read, rubric))
            if answer.value is not None:
                readings.append(answer.value)
            elif answer.fault is not None:
                lost = (
                    Rating(why=TOO_LONG)
                    if answer.fault.context_overflow
                    else told(answer.fault, Rating)
                )
                return [Measure(f"{rubric.name}.score", None, about=lost)]
            elif answer.unreadable is None:
                return []  # a ceiling kept it from being asked
            else:
                unread.append(answer.unreadable[:300])
        if len(readings) < enough(config.samples):
            message = f"{len(unread)} of {config.samples} answers could not be read: {unread[0]}"
            fault = Rating(fault="judge", message=message)
            return [Measure(f"{rubric.name}.score", None, about=fault)]
        for item in rubric.judged:
            found = item_measure(
                rubric, item, [one.answers[item.name] for one in readings], config.samples, unread
            )
            values[item.name] = found.value
            measures.append(found)
    weight = sampling_weight(rubric, values)
    return [*measures, overall(rubric, values), *([weight] if weight is not None else [])]


async def judge(cases: Cases, config: RubricConfig) -> FilterResult:
    """Keep and drop where the judge may decide; undefined, with the score, where it is a column
    only.
    """
    rubric = read_rubric(config.rubric)
    items: dict[str, list[Item]] = {}
    for case in cases:
        accepts = _accepts(rubric, case)
        if accepts is not None and case.trajectory.outcome in (Outcome.SUCCESS, Outcome.FAILURE):
            gold = case.trajectory.outcome is Outcome.SUCCESS
            items.setdefault(case.trajectory.env, []).append(
                (case.trajectory.task_id, accepts, gold)
            )
    agreements = {
        env: agreement(found, int(content_hash([config.digest, env], size=6), 16))
        for env, found in sorted(items.items())
    }
    why_not = {
        env: found.why_not(config.min_items, config.min_kappa) for env, found in agreements.items()
    }
    verdicts = {
        case.trajectory.trajectory_id: _verdict(rubric, config, case, agreements, why_not)
        for case in cases
    }
    notes = [line(env, found, why_not[env]) for env, found in agreements.items()]
    measures = {
        f"judge:{rubric.name}:{env}": found.measures(rubric.name)
        for env, found in agreements.items()
    }
    return FilterResult(verdicts, notes, measures)


def _accepts(rubric: Rubric, case: Case) -> bool | None:
    """Whether the judge takes it for a success."""
    if rubric.decides is None:
        return None
    item = next(one for one in rubric.judged if one.name == rubric.decides.item)
    value = _value(rubric, case, item.name)
    if value is None:
        return None
    least = min(item.scale.answers.index(answer) for answer in rubric.decides.accept)
    return value >= (least if item.scale.choices else float(item.scale.answers[least]))


def _value(rubric: Rubric, case: Case, item: str) -> float | None:
    return next((one.value for one in case.measures if one.metric == f"{rubric.name}.{item}"), None)


def _verdict(
    rubric: Rubric,
    config: RubricConfig,
    case: Case,
    agreements: dict[str, Agreement],
    why_not: dict[str, str | None],
) -> Verdict:
    score = _value(rubric, case, "score")
    abouts: list[Rating] = [one.about for one in case.measures if one.about is not None]
    fault = next((one for one in abouts if one.fault is not None), None)
    if fault is not None or not case.measures:
        return Verdict(None, "judge_fault", detail=to_builtins(fault) or {})
    if any(one.why == TOO_LONG for one in abouts):
        return Verdict(None, TOO_LONG)
    if not config.drop_below:
        return Verdict(None, "scored", score)
    if case.trajectory.env not in agreements or why_not[case.trajectory.env] is not None:
        return Verdict(None, "judge_not_calibrated", score)
    for name, least in config.drop_below.items():
        item = next(one for one in rubric.judged if one.name == name)
        value = _value(rubric, case, name)
        if value is None:
            return Verdict(None, f"{name}_undefined", score)
        if value < (item.scale.answers.index(least) if item.scale.choices else float(least)):
            return Verdict(False, f"{name}_low", score)
    return Verdict(True, "above", score)


FILTER = Filter(
    RubricConfig,
    judge,
    scope="corpus",
    about=Rating,
    measure=measure,
    measured=("digest", "samples", "temperature", "structured", "role"),
    roles=lambda config: (config.role,) if read_rubric(config.rubric).judged else (),
)
