"""The gold check: state, told facts, refusals and process; a pure function of task, base world,
changed facts and transcript.
"""

from collections.abc import Mapping, Sequence

from synth.envs.fact_pattern import matches
from synth.envs.storefront.check.claims import claimed, is_sum
from synth.envs.storefront.check.contradiction import contradicts, rivals
from synth.envs.storefront.check.process import breaches, case_of
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.customer.told import (
    SAID,
    SEEN,
    identifiers,
    names_something,
    windows,
    with_years,
)
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded, messages
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

VERSION = "storefront-check-4"
OUTCOME = ("state", "told")
"""The parts that count where only the outcome does: what lucky and non-compliant passes are
measured against.
"""
VALUES_IN_A_WINDOW = 2
VALUES_BESIDES_FACTS = 4
VALUES_OF_A_THING = 4
"""The fact, and an old total, a discount and a price beside it."""
VALUES_OF_NOTHING = 1
"""Days and statuses, beside the facts, in messages that name no order, sku or request: more are a
guess. Amounts may be more: they
stand in questions for a confirmation as well.
"""
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
    process = (
        breaches(check.process, case_of(exchanges, base, speaker, opening, script))
        if check.process
        else []
    )
    parts = (
        _state(check, base, changed),
        _told(check, base, exchanges),
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


def _told(check: Check, base: BaseWorld, exchanges: Sequence[Exchange]) -> SubVerdict:
    if not check.told:
        return _part("told", 0, ())
    spoken = [
        (at, with_years(message, base.today))
        for at, exchange in enumerate(exchanges)
        for message in messages(exchange)
    ]
    said = [(at, window) for at, message in spoken for window in windows(message)]
    said_of_nothing = [message for _, message in spoken if not names_something(message)]
    problems: list[str] = []
    missing = 0
    for kind in dict.fromkeys(fact.type for fact in check.told):
        facts = [fact for fact in check.told if fact.type == kind]
        most = 2 * len(facts) + VALUES_BESIDES_FACTS
        guesses = len({value for _, window in said for value in SAID[kind](window)}) > most
        values = {
            value
            for _, window in said
            if not _is_of_others(facts, window)
            for value in SAID[kind](window)
        }
        if len(values) > most:
            problems.append(
                f"{len(values)} values of type {kind} said, at most {most} count as an answer"
            )
        loose = {
            value
            for message in said_of_nothing
            for window in windows(message)
            for value in SAID[kind](window)
        }
        if kind != "money" and len(loose) > len(facts) + VALUES_OF_NOTHING:
            problems.append(
                f"{len(loose)} values of type {kind} said of no order and no request, at most "
                f"{len(facts) + VALUES_OF_NOTHING}"
            )
        wrong = [
            problem
            for fact in facts
            if (problem := _not_told(fact, base, said, exchanges, guesses)) is not None
        ]
        missing += len(wrong)
        problems += wrong
    return _part("told", len(check.told) - missing, problems)


def _is_of_others(facts: Sequence[ToldFact], window: str) -> bool:
    """Whether a sentence names orders or skus, and none that a fact is about."""
    named = identifiers(window)
    return bool(named) and named.isdisjoint(fact.about for fact in facts)


def _not_told(
    fact: ToldFact,
    base: BaseWorld,
    said: Sequence[tuple[int, str]],
    exchanges: Sequence[Exchange],
    guesses: bool,
) -> str | None:
    """Why a fact does not count as told, or None: it must be said after it was seen, and the last
    time must stand. Where more values are
    said than count as an answer (`guesses`), those said of other things tell nothing.
    """
    first_seen = next(
        (at for at, exchange in enumerate(exchanges) if _supports(fact, fact.value, exchange)),
        len(exchanges),
    )
    tellings = [
        place
        for place, (at, window) in enumerate(said)
        if at > first_seen
        and fact.value in claimed(fact.type, window)
        and _is_one_answer(fact.type, window)
        and not (guesses and _is_of_others((fact,), window))
    ]
    if not tellings:
        return f"not told: {fact.type} of {fact.about}"
    of_others = [
        place
        for place in tellings
        if fact.about not in said[place][1] and identifiers(said[place][1])
    ]
    last = max(set(tellings).difference(of_others) or tellings)
    told_at, telling = said[last]
    of_it = rivals(fact, telling, (window for _, window in said), base)
    if len(of_it) > VALUES_OF_A_THING:
        return (
            f"{len(of_it)} values said of the same thing, at most {VALUES_OF_A_THING} count "
            f"as an answer: {fact.type} of {fact.about}"
        )
    for at, later in said[last + 1 :]:
        for value in contradicts(fact, telling, later, base):
            if not any(_supports(fact, value, exchange) for exchange in exchanges[told_at:at]):
                return (
                    f"told, and contradicted in turn {at} by {value}, which nothing new "
                    f"showed: {fact.type} of {fact.about}"
                )
    return None


def _is_one_answer(kind: str, window: str) -> bool:
    return len(claimed(kind, window)) <= VALUES_IN_A_WINDOW or is_sum(kind, window)


def _supports(fact: ToldFact, value: Scalar, exchange: Exchange) -> bool:
    return any(
        fact.about in seen.content and value in SEEN[fact.type](seen.content)
        for _, seen in answered(exchange)
    )


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
