"""Cost: what each method has spent, what a kept row has cost, and which calls have no price."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.engine.cost import cost
from synth.engine.numbers import counted_noun, short_count
from synth.engine.table import Table
from synth.ledger.ledger import StoredLedger
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section, paragraph

_COLUMNS = ("attempts", "calls", "prompt", "of it cached", "completion", "USD")
COLUMNS = (*_COLUMNS, "calls without a price")
PER_ROW = {
    "attempts": "attempts a row",
    "prompt_tokens": "prompt tokens a row",
    "completion_tokens": "completion tokens a row",
}
_UNKNOWN = "not known"


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """What cost.json holds, as tables; a line where no model has answered."""
    return "".join(_parts(cost(ledger))) or None


def _parts(found: Mapping[str, Any]) -> Iterator[str]:
    total, unfinished = found["total"], found["unfinished"]
    asked = bool(total["model_calls"])
    if not total["attempts"] and not unfinished["attempts"]:
        return

    yield paragraph(_words(total))

    if asked:
        methods = [
            (row["synthesizer"], row["role"], row["model"] or row["policy"], row)
            for row in found["by"]
            if row["model_calls"] or row["attempts"]
        ]
        yield _table("By method", ("method", "role", "by"), methods)
        outcomes = [
            (row["outcome"], row["fault"], row) for row in found["by_outcome"] if row["model_calls"]
        ]
        yield _table("By what it came to: faults are paid for too", ("outcome", "fault"), outcomes)

    if found["datasets"]:
        yield _by_dataset(found["datasets"], asked=asked)

    if unfinished["attempts"]:
        tokens = short_count(unfinished["prompt_tokens"] + unfinished["completion_tokens"])
        episodes = counted_noun(unfinished["attempts"], "unfinished episode")
        yield paragraph(f"Not in these sums: {episodes} of this machine, {tokens} tokens.")


def _words(total: Mapping[str, Any]) -> str:
    """The sum, and what is missing in it."""
    attempts = counted_noun(total["attempts"], "attempt")
    if not total["model_calls"]:
        return f"No reply of a model is recorded: {attempts} without one."

    tokens = short_count(total["prompt_tokens"] + total["completion_tokens"])
    spent = f"{tokens} tokens in {counted_noun(total['model_calls'], 'call')} of {attempts}"
    known, unpriced = total["known_cost_usd"], total["unpriced_calls"]
    if known is None:
        return f"{spent}; no call has a price (models.<role>.price in the flow)."

    without = f", without the {counted_noun(unpriced, 'call')} whose price is not known"
    return (
        f"{spent}; ${known:,.4g}{without if unpriced else ''}. All attempts count, those that "
        "ended in faults too."
    )


def _table(title: str, names: tuple[str, ...], found: list[tuple[Any, ...]]) -> str:
    """Sums of `spending`, each behind what it is the sum of."""
    rows = [(*(name or "-" for name in named), *_cells(row)) for *named, row in found]
    return Table(title, (*names, *COLUMNS), rows).html()


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    known, calls, unpriced = row["known_cost_usd"], row["model_calls"], row["unpriced_calls"]
    dollars = _UNKNOWN if known is None else f"{known:,.4f}" + (" and more" if unpriced else "")
    tokens = (short_count(row[f"{kind}_tokens"]) for kind in ("prompt", "cached", "completion"))
    counts = (f"{row['attempts']:,}", f"{calls:,}", *tokens)
    return (*counts, dollars if calls else "-", f"{unpriced:,}")


def _by_dataset(datasets: Sequence[Mapping[str, Any]], *, asked: bool) -> str:
    rows = [_per_row(dataset, asked=asked) for dataset in datasets]
    title = "Per kept row: all that was spent, over the rows of each data set"
    return Table(title, ("data set", "rows kept", *PER_ROW.values(), "USD a row"), rows).html()


def _per_row(dataset: Mapping[str, Any], *, asked: bool) -> tuple[str, ...]:
    each = [_figure(dataset[f"{name}_per_row"]) for name in PER_ROW]
    dollars = dataset["cost_usd_per_row"]
    unpriced = _UNKNOWN if asked and dataset["rows"] else "-"
    price = unpriced if dollars is None else f"{dollars:,.4g}"
    return dataset["name"], f"{dataset['rows']:,}", *each, price


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


SECTION = Section("Cost", render)
