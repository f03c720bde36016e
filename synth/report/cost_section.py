"""Cost: what each method has spent, what a kept row has cost, and which calls have no price."""

from collections.abc import Mapping
from typing import Any

from synth.engine.cost import cost
from synth.engine.numbers import counted_noun, short_count
from synth.engine.table import Table
from synth.ledger.ledger import Ledger
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section
from synth.schemas.printable import in_html

COLUMNS = (
    "attempts",
    "calls",
    "prompt",
    "of it cached",
    "completion",
    "USD",
    "calls without a price",
)
_UNKNOWN = "not known"


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """What cost.json holds, as tables; a line where no model has answered."""
    found = cost(ledger)
    total, unfinished = found["total"], found["unfinished"]
    if not total["attempts"] and not unfinished["attempts"]:
        return None
    parts = [f"<p>{in_html(_words(total))}</p>"]
    if total["model_calls"]:
        of = [
            (
                (
                    row["synthesizer"] or "-",
                    row["role"] or "-",
                    row["model"] or row["policy"] or "-",
                ),
                row,
            )
            for row in found["by"]
        ]
        rows = [
            (*names, *_cells(row)) for names, row in of if row["model_calls"] or row["attempts"]
        ]
        parts.append(Table("By method", ("method", "role", "by", *COLUMNS), rows).html())
        outcomes = [
            (row["outcome"] or "-", row["fault"] or "-", *_cells(row))
            for row in found["by_outcome"]
            if row["model_calls"]
        ]
        parts.append(
            Table(
                "By what it came to: faults are paid for too",
                ("outcome", "fault", *COLUMNS),
                outcomes,
            ).html()
        )
    if found["datasets"]:
        parts.append(_per_row(found["datasets"], asked=bool(total["model_calls"])))
    if unfinished["attempts"]:
        tokens = short_count(unfinished["prompt_tokens"] + unfinished["completion_tokens"])
        words = (
            f"Not in these sums: {counted_noun(unfinished['attempts'], 'unfinished episode')} "
            f"of this machine, {tokens} tokens."
        )
        parts.append(f"<p>{in_html(words)}</p>")
    return "".join(parts)


def _words(total: Mapping[str, Any]) -> str:
    """The sum, and what is missing in it."""
    if not total["model_calls"]:
        return (
            f"No reply of a model is recorded: {counted_noun(total['attempts'], 'attempt')} "
            "without one."
        )
    tokens = short_count(total["prompt_tokens"] + total["completion_tokens"])
    spent = (
        f"{tokens} tokens in {counted_noun(total['model_calls'], 'call')} of "
        f"{counted_noun(total['attempts'], 'attempt')}"
    )
    known, unpriced = total["known_cost_usd"], total["unpriced_calls"]
    if known is None:
        return f"{spent}; no call has a price (models.<role>.price in the flow)."
    without = (
        f", without the {counted_noun(unpriced, 'call')} whose price is not known"
        if unpriced
        else ""
    )
    return f"{spent}; ${known:,.4g}{without}. All attempts count, those that ended in faults too."


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    known, unpriced = row["known_cost_usd"], row["unpriced_calls"]
    dollars = _UNKNOWN if known is None else f"{known:,.4f}" + (" and more" if unpriced else "")
    tokens = (short_count(row[f"{kind}_tokens"]) for kind in ("prompt", "cached", "completion"))
    return (
        f"{row['attempts']:,}",
        f"{row['model_calls']:,}",
        *tokens,
        dollars if row["model_calls"] else "-",
        f"{unpriced:,}",
    )


def _per_row(datasets: list[Mapping[str, Any]], *, asked: bool) -> str:
    rows = []
    for dataset in datasets:
        each = [
            dataset[f"{name}_per_row"]
            for name in ("attempts", "prompt_tokens", "completion_tokens", "cost_usd")
        ]
        attempts, prompt, completion, dollars = each
        cells = [
            "-" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"
            for value in (attempts, prompt, completion)
        ]
        cells.append(
            ("-" if not asked or not dataset["rows"] else _UNKNOWN)
            if dollars is None
            else f"{dollars:,.4g}"
        )
        rows.append((dataset["name"], f"{dataset['rows']:,}", *cells))
    columns = (
        "data set",
        "rows kept",
        "attempts a row",
        "prompt tokens a row",
        "completion tokens a row",
        "USD a row",
    )
    return Table(
        "Per kept row: all that was spent, over the rows of each data set", columns, rows
    ).html()


SECTION = Section("Cost", render)
