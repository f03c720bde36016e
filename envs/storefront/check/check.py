"""The gold check: state, told facts, refusals, process and truth of words; a pure function of task,
base world, changed facts and transcript.
"""

from collections.abc import Mapping, Sequence

from synth.envs.fact_pattern import matches
from synth.envs.storefront.check.closing.closing_words import judged, spoken
from synth.envs.storefront.check.episode_view import NO_SCRIPT, EpisodeView
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.process import breaches
from synth.envs.storefront.check.truth import untrue
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import FACTS, TALKS
from synth.envs.storefront.tools.transcript import Event, Exchange, event_log, leaves
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas import (
    Check,
    CheckResult,
    Refusal,
    RowPredicate,
    Scalar,
    SubVerdict,
    Tell,
    verdict_of,
)

VERSION = "storefront-check-9"
OUTCOME = ("check", "state", "told")
"""The parts that count where only the outcome does: what lucky and non-compliant passes are
measured against.
"""
VALUES_BESIDES_FACTS = 4
"""Facts told beside twice those that were asked for: more are a guess."""
VALUES_OF_A_THING = 4
"""Values of one type told of the same thing: the fact, an old total, a refund, a price."""
LOOK_UPS: Mapping[str, Sequence[str]] = texts("rules")["look_ups"]
"""Tools whose answer is evidence for a denial; `get_order` for all others."""


def evaluate(
    check: Check | None,
    base: BaseWorld,
    changed: Mapping[str, Scalar],
    exchanges: Sequence[Exchange],
    *,
    opening: str = "",
    script: Script = NO_SCRIPT,
    outcome_only: bool = False,
) -> CheckResult:
    """State, told facts, refusals, process and truth, each with evidence; all must pass. Without a
    check nothing passes; where none fails and the last words cannot be checked, it is undefined.

    `opening` and `script` are the customer's first words and wishes; `outcome_only` reports all
    parts and lets state and told decide.
    """
    parts: tuple[SubVerdict, ...] = (SubVerdict("check", False, ("the task has no check",)),)

    if check is not None:
        own = frozenset(base.customers_by["name"].get(script.name, ()))
        view = EpisodeView(event_log(exchanges), base, own, opening, script)
        parts = _parts(check, view, changed)

    passed = verdict_of([part for part in parts if not outcome_only or part.name in OUTCOME])

    return CheckResult(passed, parts, dict(changed), VERSION)


def _parts(
    check: Check, view: EpisodeView, changed: Mapping[str, Scalar]
) -> tuple[SubVerdict, ...]:
    """State, told facts, refusals, process and truth."""
    process = breaches(check.process, view)
    # the score counts rules, however often each was broken
    kept = len({*check.process} - {breach.rule for breach in process})
    denials = [why for refusal in check.refusals if (why := _not_denied(refusal, view.events))]

    return (
        _state(check, view.base, changed),
        _told(check, view.events),
        _part("refusals", len(check.refusals) - len(denials), denials),
        _part("process", kept, list(map(str, process))),
        _truth(view, changed),
    )


def _truth(view: EpisodeView, changed: Mapping[str, Scalar]) -> SubVerdict:
    """Failed by a claim that is untrue; undefined by closing words that cannot be checked."""
    ground = EpisodeGround(view, changed)
    lies, unread = judged(untrue(ground), spoken(ground))
    if unread and not lies:
        return SubVerdict("truth", None, tuple(map(str, unread)))

    return _part("truth", 0, list(map(str, lies)))


def _part(
    name: str,
    held: int,
    problems: Sequence[str],
) -> SubVerdict:
    """A part of which this much holds; its score is the share of that among what holds and what
    does not.
    """
    score = held / (held + len(problems)) if problems else 1.0

    return SubVerdict(name, not problems, tuple(problems), score)


def _state(check: Check, base: BaseWorld, changed: Mapping[str, Scalar]) -> SubVerdict:
    """Required rows hold as often as they must, and nothing else changed but what is free.

    An old row covers the columns that are required of it, a new one all of its columns.
    """
    final = _rows_at_the_end(base, changed)
    problems: list[str] = []
    covered: set[str] = set()

    for predicate in check.required:
        table = predicate.table
        start = base.tables.get(table, {})
        rows = final.get(table, start)
        holding = _holding(predicate, rows)

        if len(holding) != predicate.count:
            where = dict(sorted(predicate.where.items()))
            problems.append(f"{len(holding)} rows instead of {predicate.count}: {table} {where}")

        for key in holding:
            # of an old row only what was asked for may change
            columns = predicate.where if key in start else rows[key]
            covered.update(f"{table}/{key}/{column}" for column in columns)

    met = len(check.required) - len(problems)

    problems += [
        f"changed although protected: {path}"
        for path in changed
        if path not in covered
        and not any(matches(pattern, path) for pattern in check.free)
        and any(matches(pattern, path) for pattern in check.protected)
    ]

    return _part("state", met, problems)


def _rows_at_the_end(
    base: BaseWorld, changed: Mapping[str, Scalar]
) -> Mapping[str, Mapping[str, Row]]:
    """The rows of the tables in which something changed."""
    final: dict[str, dict[str, Row]] = {}

    for path, value in changed.items():
        table, key, column = path.split("/", 2)
        rows = final.setdefault(table, dict(base.tables.get(table, {})))
        rows[key] = {**rows.get(key, {}), column: value}

    return final


def _holding(
    predicate: RowPredicate,
    rows: Mapping[str, Row],
) -> list[str]:
    """The rows that have all the values of the predicate."""
    wanted = dict(predicate.where)
    key = wanted.pop("id", None)
    keys = rows.keys() if key is None else {str(key)} & rows.keys()

    return [key for key in keys if wanted.items() <= rows[key].items()]


def _told(
    check: Check,
    events: Sequence[Event],
) -> SubVerdict:
    """Every fact that was asked for was told, and not too many others with it."""
    tells = [event for event in events if event.kind == "told"]
    wrong = [
        why
        for fact in check.told
        if (
            why := _not_told(
                fact,
                tells,
                events,
            )
        )
    ]
    missing = len(wrong)
    most = 2 * len(check.told) + VALUES_BESIDES_FACTS
    # a fact that is told twice counts once
    different = len({(tell.tool, tell.text, tell.told) for tell in tells})

    if check.told and different > most:
        wrong.append(f"{different} facts told, at most {most} count as an answer")

    return _part("told", len(check.told) - missing, wrong)


def _not_told(
    fact: Tell,
    tells: Sequence[Event],
    events: Sequence[Event],
) -> str | None:
    """Why a fact does not count as told, or None: it is the last value told of its kind, in a turn
    after one in which a tool showed it, and few others were told of the same thing.
    """
    what = f"{fact.type} of {fact.about}"
    of_it = [tell for tell in tells if (tell.text, FACTS[tell.tool][0]) == (fact.about, fact.type)]
    # what was taken back was not told: the last value of each name counts
    last = {tell.tool: tell for tell in of_it}
    # events stand in order, so the first is the earliest
    seen = next((event.turn for event in events if shows(event, fact)), None)

    if not any(
        tell.told == fact.value and seen is not None and tell.turn > seen for tell in last.values()
    ):
        early = any(tell.told == fact.value for tell in of_it)

        return f"not told: {what}" + ", but before it was seen, or taken back" * early

    values = {tell.told for tell in of_it}

    if len(values) > VALUES_OF_A_THING:
        return f"{len(values)} values told of the same thing: {what}"

    return None


def shows(event: Event, fact: Tell) -> bool:
    """Whether a tool's answer holds what a fact is about, and its value."""
    if event.kind != "call" or event.tool in TALKS:
        return False

    values = leaves(event.result)
    if fact.about not in values:
        return False

    if fact.type == "money":
        # tools show dollars, a check holds cents
        values = [round(v * 100) for v in values if isinstance(v, int | float)]

    return fact.value in values


def _not_denied(refusal: Refusal, events: Sequence[Event]) -> str | None:
    """Why a refusal does not hold, or None: the last denial of the request names the rule and
    follows the evidence; going through all rules is a guess.
    """
    number = refusal.request
    rule = refusal.rule
    evidence = refusal.evidence
    tools = LOOK_UPS.get(f"{rule} {str(evidence).partition('-')[0]}", ("get_order",))
    calls = [event for event in events if event.kind == "call"]
    # the answer must hold the evidence, not only the call
    looks = [
        event.turn for event in calls if event.tool in tools and evidence in leaves(event.result)
    ]

    denials = [
        event
        for event in calls
        if event.tool == "deny" and str(event.arguments.get("request")) == number
    ]

    looked_up = evidence is None or (denials and looks and looks[0] < denials[-1].turn)

    if denials and looked_up and denials[-1].arguments.get("rule_id") == rule:
        return None

    return f"request {number} was not denied with {rule} after a look-up of {evidence}"
