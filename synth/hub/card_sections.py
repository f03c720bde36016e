"""Sections of the card that the ledger alone answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl

from synth.datasets.release import binding
from synth.engine.cost import cost
from synth.engine.funnel import funnel_markdown
from synth.engine.table import Table
from synth.exporters.registry import kind_of
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger.ledger import Ledger
from synth.ledger.log.state import IMPORT
from synth.ledger.views import connect
from synth.report.sections.funnel import reports
from synth.schemas.printable import Marked, in_markdown
from synth.schemas.yaml_text import read_yaml

_OWN = ("a filter of the user's own", "")
_NOT_METHODS = ("export", "report", "selection", "calibration", "imported")
"""Kinds of reports."""
_CHECKED = """SELECT format(CASE
    WHEN imported THEN '{:,} trajectories were imported: their outcome is what their source says; nothing was executed here for it'
    WHEN checked THEN '{:,} trajectories have a verdict of their environment''s own check, run when they ended'
    ELSE '{:,} trajectories have no verdict of a check' END, n)
  FROM (SELECT stage = 'import' AS imported, stage <> 'import' AND check_result IS NOT NULL AS checked, count(*) AS n
    FROM trajectories WHERE fault IS NULL GROUP BY ALL)
  ORDER BY imported, checked"""
_PARTS = """SELECT DISTINCT env, json_extract_string(check_result, '$.parts[*].name') FROM trajectories
  WHERE fault IS NULL AND check_result IS NOT NULL ORDER BY ALL"""
_REVISION = "coalesce(weights_id, if(model IS NULL, '-', 'not told'))"
_AUTHORS = f"""SELECT coalesce(role, '-'), coalesce(policy, '-'), coalesce(model, '-'), {_REVISION}, authorship,
    coalesce(nullif(sampling, '{{}}'), '-'), format('{{:,}}', n)
  FROM (SELECT role, policy, model, weights_id, authorship, sampling, count(*) AS n
    FROM trajectories WHERE fault IS NULL GROUP BY ALL ORDER BY ALL)"""
_BESIDE = f"""SELECT role, coalesce(model, '-'), {_REVISION}, coalesce(purpose, '-'), format('{{:,}}', n)
  FROM (SELECT role, model, weights_id, purpose, count(*) AS n FROM replies GROUP BY ALL ORDER BY ALL)"""
_USERS = """SELECT 'user', coalesce(user_model, '-'), if(user_model IS NULL, '-', 'not told'), 'plays the user',
    format('{:,}', sum(user_calls)::BIGINT)
  FROM trajectories WHERE user_calls > 0 GROUP BY user_model ORDER BY ALL"""


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Markdown."""
    written = [[cell if isinstance(cell, str) else str(cell) for cell in row] for row in rows]
    return Table("", columns, written).markdown().rstrip("\n")


def asked(ledger: Ledger, sql: str) -> list[tuple[Any, ...]]:
    """Rows of the ledger's views."""
    with connect(ledger) as connection:
        return list(connection.execute(sql).fetchall())


def bullets(lines: Iterable[str]) -> str:
    """A list of sentences; "" where there are none."""
    return "\n".join(f"- {in_markdown(line)}." for line in lines)


@cache
def known_methods() -> Mapping[str, tuple[str, str]]:
    """Name of a stage or filter -> (what it does, source)."""
    text = files("synth.hub").joinpath("data/methods.yaml").read_text(encoding="utf-8")
    return {name: (what, source) for name, (what, source) in read_yaml(text, "methods").items()}


def world_names(ledger: Ledger) -> list[str]:
    """Worlds of the valid trajectories, else of the tasks."""
    found = asked(ledger, "SELECT DISTINCT env FROM trajectories WHERE fault IS NULL ORDER BY env")
    found = found or asked(ledger, "SELECT DISTINCT env FROM tasks ORDER BY env")
    return [env for (env,) in found if env]


def verified(ledger: Ledger, configs: Sequence[Config]) -> str:
    """What stands behind the labels: the environment's check, what the filters did, what was only
    said by a source.
    """
    lines = [line for (line,) in asked(ledger, _CHECKED)]
    lines += [
        f"the check of `{env}` has the parts {', '.join(names)}"
        for env, names in asked(ledger, _PARTS)
        if names
    ]
    filters = _filters(ledger)
    ran = ", ".join(f"`{one['name']}`" for one in filters)
    lines.append(
        f"filters, over the run's valid trajectories: {ran}"
        if ran
        else "no filter judged the trajectories"
    )
    if not any(one["name"] == "reexecuted" for one in filters):
        lines.append(
            Marked(
                "the trajectories were **not** executed a second time (the filter `reexecuted` "
                "did not run)"
            )
        )
    undefined = {one["name"]: sum(one["undefined"].values()) for one in filters if one["undefined"]}
    lines += [
        f"`{name}` could not say for {count:,} trajectories, which stayed in"
        for name, count in undefined.items()
    ]
    for config in configs:
        names = binding(kind_of(config.kind).rule, config.release)
        honoured = "every filter" if names is None else ", ".join(f"`{n}`" for n in sorted(names))
        lines.append(f"`{config.name}` honours the decisions of {honoured or 'no filter'}")
    keys = ("kept", "dropped", "undefined")
    rows = [
        (
            one["name"],
            known_methods().get(one["name"], _OWN)[0],
            *(f"{sum(one[key].values()):,}" for key in keys),
        )
        for one in filters
    ]
    told = "\n\n" + table(("filter", "what it does", *keys), rows) if rows else ""
    return bullets(lines) + told


def _filters(ledger: Ledger) -> list[Mapping[str, Any]]:
    judged = (report for report in reports(ledger).values() if report["kind"] == "filter")
    return [entry for report in judged for entry in report["filters"]]


def funnel_and_faults(ledger: Ledger) -> str:
    """What went into each stage and what went on; attempts that the machinery broke."""
    said = []
    for view, what in (
        ("trajectories", "attempts of this flow"),
        ("trajectories_all", "attempts in the run directory (evidence, other flows)"),
    ):
        sql = f"SELECT fault, count(*) FROM {view} GROUP BY 1 ORDER BY 2 DESC, 1"
        counts = dict(asked(ledger, sql))
        total, _ = sum(counts.values()), counts.pop(None, 0)
        named = ", ".join(f"{count:,} {fault}" for fault, count in counts.items())
        said.append(f"{sum(counts.values()):,} of {total:,} {what}{f' ({named})' if named else ''}")
    faulty = (
        f"Ended in faults of the machinery: {'; '.join(said)}. Such attempts carry no label "
        "and are in no row."
    )
    return funnel_markdown(reports(ledger)) + "\n" + in_markdown(faulty)


def false_discoveries(ledger: Ledger) -> str:
    """What A/A controls measured: an act compared with itself, which no honest test should find
    different.
    """
    lines = []
    for stage, report in reports(ledger).items():
        share = report.get("expected_false_share", report.get("false_share"))
        control, flips = report.get("control"), report.get("methods", {}).get("flip_deterministic")
        if share is not None:
            tests = "" if not control else " (A/A control: {accepted} of {tests} accepted)"
            lines.append(
                f"`{stage}`: an expected {share:.1%} of the labels that rest on statistics are "
                f"false{tests.format_map(control or {})}"
            )
        elif {"expected_false_share", "false_share"} & set(report):
            rest = f"; {flips:,} labels rest on flips of a deterministic policy, which need none"
            told = f"no A/A control came to a verdict{rest if flips else ''}"
            lines.append(f"`{stage}`: not measured ({told})")
    none = "No stage of this run made labels that rest on statistics, so no rate was measured."
    return bullets(lines) or none


def authors(ledger: Ledger) -> str:
    """Policies and models with revisions and sampling, of the episodes and of roles that were asked
    beside them.
    """
    columns = ("role", "policy", "model", "revision", "written by", "sampling", "trajectories")
    found = table(columns, asked(ledger, _AUTHORS))
    if beside := [*asked(ledger, _BESIDE), *asked(ledger, _USERS)]:
        told = ("role beside the episodes", "model", "revision", "for", "replies")
        found += "\n\n" + table(told, beside)
    return found


def cost_by_method(ledger: Ledger, facts: Mapping[str, RowFacts]) -> str:
    """All attempts count, failed ones and faults too; what a method cost over the rows that it gave
    each configuration.
    """
    spent = pl.DataFrame(cost(ledger)["by"], infer_schema_length=None)
    if spent.is_empty():
        return "Nothing was spent here: the trajectories were imported."
    by_method = spent.group_by(pl.coalesce("synthesizer", "stage").alias("method")).agg(
        pl.col("attempts").filter(pl.col("policy").is_not_null()).sum(),
        tokens=(pl.col("prompt_tokens") + pl.col("completion_tokens")).sum(),
        usd=pl.col("known_cost_usd").cast(pl.Float64).sum(),
        unpriced=pl.col("unpriced_calls").sum(),
    )
    rows = []
    for one in by_method.sort("method").iter_rows(named=True):
        method, attempts, tokens = one["method"], one["attempts"], one["tokens"]
        kept = {name: found.composition["synthesizer"][method] for name, found in facts.items()}
        unpriced = f", without {one['unpriced']:,} calls whose price is not known"
        in_all = f"{tokens:,} tokens, ${one['usd']:,.4g}{unpriced if one['unpriced'] else ''}"
        for name, count in {n: c for n, c in kept.items() if c}.items() or (("-", 0),):
            priced = count and tokens and not one["unpriced"]
            per_row = (
                f"{attempts / count:.2f}" if count else "-",
                f"{tokens / count:,.0f}" if count else "-",
                f"${one['usd'] / count:.4g}" if priced else "-",
            )
            price = in_all if tokens else "no model was asked"
            rows.append((method, name, f"{count:,}", f"{attempts:,}", *per_row, price))
    columns = ("method", "configuration", "rows", "attempts", "attempts per row")
    told = table((*columns, "tokens per row", "price per row", "the method in all"), rows)
    return (
        f"{told}\n\nRows that rest on several trajectories (pairs, step values, tasks) do not name "
        "one method, and count under none."
    )


def methods(ledger: Ledger) -> str:
    """The stages and filters of the flow, with their sources."""
    rows = []
    for name in _stage_names(ledger):
        what, source = known_methods().get(name, ("a part of the user's own", "not told"))
        rows.append((name, what, source or "-"))
    columns = ("part", "what it does", "source")
    return table(columns, rows) if rows else "Nothing but import and export."


def _stage_names(ledger: Ledger) -> Iterator[str]:
    for stage, report in reports(ledger).items():
        if report["kind"] == "filter":
            yield from (one["name"] for one in report["filters"])
        elif report["kind"] not in _NOT_METHODS and stage not in ("tasks", "calibrate", IMPORT):
            yield stage
