"""The gold check: state, told facts, refusals and process; a pure function of task, base world,
changed facts and transcript.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.envs.fact_pattern import matches
from synth.envs.storefront.check.process import breaches, case_of
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tools.event_log import Event, shown
from synth.envs.storefront.tools.schemas import FACTS, TALKS
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import (
    Check,
    CheckResult,
    Refusal,
    RowPredicate,
    Scalar,
    SubVerdict,
    ToldFact,
)
from synth.schemas.trajectory import Observation

VERSION = "storefront-check-5"
OUTCOME = ("state", "told")
"""The parts that count where only the outcome does: what lucky and non-compliant passes are
measured against.
"""
VALUES_BESIDES_FACTS = 4
"""Facts told beside twice those that were asked for: more are a guess."""
VALUES_OF_A_THING = 4
"""Values of one type told of the same thing: the fact, an old total, a refund, a price."""
LOOK_UPS: Mapping[tuple[str, str], frozenset[str]] = {
    ("R3", "O"): frozenset({"get_order", "track_shipment", "list_orders"}),
    ("R1", "C"): frozenset({"find_customer", "verify_identity"}),
    ("R11", "C"): frozenset({"get_customer"}),
}
"""Tools whose answer is evidence for a denial, by rule and by what the evidence is, order or
customer; `get_order` for all others.
"""

Rows = dict[tuple[str, str], Row]


def evaluate(
    check: Check | None,
    base: BaseWorld,
    changed: Mapping[str, Scalar],
    exchanges: Sequence[Exchange],
    *,
    speaker: str | None = None,
    opening: str = "",
    script: Script | None = None,
    outcome_only: bool = False,
) -> CheckResult:
    """State, told facts, refusals and process, each with evidence; all must pass. Without a check
    nothing passes.

    `speaker`, `opening` and `script` are the customer's name, first words and wishes;
    `outcome_only` reports all parts and lets state and
    told decide.
    """
    if check is None:
        return CheckResult(
            False, (SubVerdict("check", False, ("the task has no check",)),), dict(changed), VERSION
        )
    case = case_of(exchanges, base, speaker, opening, script)
    process = breaches(check.process, case)
    parts = (
        _state(check, base, changed),
        _told(check, case.events, exchanges),
        _refusals(check, exchanges),
        _part(
            "process",
            len({*check.process} - {breach.rule for breach in process}),
            list(map(str, process)),
        ),
    )
    return CheckResult(
        all(part.passed for part in parts if not outcome_only or part.name in OUTCOME),
        parts,
        dict(changed),
        VERSION,
    )


def _part(name: str, held: int, problems: Sequence[str]) -> SubVerdict:
    """A part of which this much holds; its score is the share of that among what holds and what
    does not.
    """
    return SubVerdict(
        name, not problems, tuple(problems), held / (held + len(problems)) if problems else 1.0
    )


def _final_rows(base: BaseWorld, changed: Mapping[str, Scalar]) -> Rows:
    """The changed rows as they are at the end."""
    rows: Rows = {}
    for path, value in changed.items():
        table, key, column = path.split("/", 2)
        row = rows.setdefault((table, key), dict(base.tables.get(table, {}).get(key, {})))
        row[column] = value
    return rows


def _holding(predicate: RowPredicate, base: BaseWorld, final: Rows) -> set[tuple[str, str]]:
    """The rows that have all the values of the predicate."""
    wanted = {column: value for column, value in predicate.where.items() if column != "id"}
    table = predicate.table
    if "id" in predicate.where:
        keys = [str(predicate.where["id"])]
    else:
        keys = [
            *base.tables.get(table, {}),
            *(key for at, key in final if at == table and key not in base.tables.get(table, {})),
        ]
    found = set()
    for key in keys:
        row = final.get((table, key)) or base.tables.get(table, {}).get(key)
        if row is not None and all(
            column in row and row[column] == value for column, value in wanted.items()
        ):
            found.add((table, key))
    return found


def _state(check: Check, base: BaseWorld, changed: Mapping[str, Scalar]) -> SubVerdict:
    final = _final_rows(base, changed)
    problems: list[str] = []
    met = 0
    covered: dict[tuple[str, str], set[str]] = {}
    for predicate in check.required:
        holding = _holding(predicate, base, final)
        met += len(holding) == predicate.count
        if len(holding) != predicate.count:
            problems.append(
                f"{len(holding)} rows instead of {predicate.count}: {predicate.table} "
                f"{dict(sorted(predicate.where.items()))}"
            )
        for table, key in holding:
            is_new = key not in base.tables.get(table, {})
            covered.setdefault((table, key), set()).update(
                final[(table, key)] if is_new else predicate.where
            )
    for path in changed:
        table, key, column = path.split("/", 2)
        if column in covered.get((table, key), ()) or any(
            matches(pattern, path) for pattern in check.free
        ):
            continue
        if any(matches(pattern, path) for pattern in check.protected):
            problems.append(f"changed although protected: {path}")
    return _part("state", met, problems)


def _told(check: Check, events: Sequence[Event], exchanges: Sequence[Exchange]) -> SubVerdict:
    tells = [event for event in events if event.kind == "told"]
    wrong = [why for fact in check.told if (why := _not_told(fact, tells, exchanges)) is not None]
    missing, most = len(wrong), 2 * len(check.told) + VALUES_BESIDES_FACTS
    different = len({(tell.tool, tell.text, tell.told) for tell in tells})
    if check.told and different > most:
        wrong.append(f"{different} facts told, at most {most} count as an answer")
    return _part("told", len(check.told) - missing, wrong)


def _not_told(fact: ToldFact, tells: Sequence[Event], exchanges: Sequence[Exchange]) -> str | None:
    """Why a fact does not count as told, or None: it is the last value told of its kind, in a turn
    after one in which a tool showed it, and few others were told of the same thing.
    """
    what = f"{fact.type} of {fact.about}"
    of_it = [tell for tell in tells if (tell.text, FACTS[tell.tool][0]) == (fact.about, fact.type)]
    last = {tell.tool: tell for tell in of_it}
    first_seen = next(
        (at for at, exchange in enumerate(exchanges) if _shows(exchange, fact)), len(exchanges)
    )
    if not any(tell.told == fact.value and tell.turn > first_seen for tell in last.values()):
        early = any(tell.told == fact.value for tell in of_it)
        return f"not told: {what}" + ", but before it was seen, or taken back" * early
    values = {tell.told for tell in of_it}
    if len(values) > VALUES_OF_A_THING:
        return f"{len(values)} values told of the same thing: {what}"
    return None


def _shows(exchange: Exchange, fact: ToldFact) -> bool:
    """Whether a tool's answer holds what a fact is about, and its value."""
    for call, seen in answered(exchange):
        if call.name not in TALKS and fact.about in seen.content:
            values = list(_scalars(shown(seen.content)))
            if fact.type == "money":
                amounts = (v for v in values if isinstance(v, int | float))
                values = [round(amount * 100) for amount in amounts]
            if fact.value in values:
                return True
    return False


def _scalars(value: Any) -> Iterator[Scalar]:
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _scalars(inner)
    else:
        yield value


def _refusals(check: Check, exchanges: Sequence[Exchange]) -> SubVerdict:
    problems = [
        f"request {refusal.request} was not denied with {refusal.rule} after a look-up of "
        f"{refusal.evidence}"
        for refusal in check.refusals
        if not _is_denied(refusal, exchanges)
    ]
    return _part("refusals", len(check.refusals) - len(problems), problems)


def _is_denied(refusal: Refusal, exchanges: Sequence[Exchange]) -> bool:
    """Whether the last denial of the request names the rule and follows the evidence: going through
    all rules is a guess.
    """
    looked_up = refusal.evidence is None
    denied = False
    for exchange in exchanges:
        pairs = answered(exchange)
        for call, _ in pairs:
            arguments = decoded(call.arguments) or {}
            if call.name == "deny" and str(arguments.get("request")) == refusal.request:
                denied = looked_up and arguments.get("rule_id") == refusal.rule
        looked_up = looked_up or any(_is_evidence(refusal, call.name, seen) for call, seen in pairs)
    return denied


def _is_evidence(refusal: Refusal, tool: str, seen: Observation) -> bool:
    kind = str(refusal.evidence).partition("-")[0]
    return (
        tool in LOOK_UPS.get((refusal.rule, kind), frozenset({"get_order"}))
        and f'"{refusal.evidence}"' in seen.content
    )
