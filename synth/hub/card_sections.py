"""Sections of the card that the ledger alone answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.datasets.release import binding
from synth.engine.cost import cost
from synth.engine.funnel import funnel_markdown
from synth.exporters.registry import kind_of
from synth.hub.methods import METHODS
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger.ledger import Ledger
from synth.ledger.state import IMPORT
from synth.ledger.views import connect
from synth.report.funnel_section import reports
from synth.schemas.printable import Marked, in_cell, in_markdown


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Markdown."""
    lines = [f"| {' | '.join(map(in_cell, columns))} |", "|" + "---|" * len(columns)]
    for row in rows:
        lines.append(
            "| "
            f"{' | '.join(in_cell(each if isinstance(each, str) else str(each)) for each in row)} "
            "|"
        )
    return "\n".join(lines)


def asked(ledger: Ledger, sql: str) -> list[tuple[Any, ...]]:
    """Rows of the ledger's views."""
    with connect(ledger) as connection:
        return list(connection.execute(sql).fetchall())


def world_names(ledger: Ledger) -> list[str]:
    """Worlds of the valid trajectories, else of the tasks."""
    found = asked(ledger, "SELECT DISTINCT env FROM trajectories WHERE fault IS NULL ORDER BY env")
    return [
        env
        for (env,) in found or asked(ledger, "SELECT DISTINCT env FROM tasks ORDER BY env")
        if env
    ]


def verified(ledger: Ledger, configs: Sequence[Config]) -> str:
    """What stands behind the labels: the environment's check, what the filters did, what was only
    said by a source.
    """
    sql = """SELECT stage = 'import', stage <> 'import' AND check_result IS NOT NULL, count(*) FROM trajectories WHERE fault IS NULL
      GROUP BY ALL ORDER BY ALL"""
    lines = []
    for imported, checked, count in asked(ledger, sql):
        if imported:
            lines.append(
                f"{count:,} trajectories were imported: their outcome is what their source says; "
                "nothing was executed here for it"
            )
        elif checked:
            lines.append(
                f"{count:,} trajectories have a verdict of their environment's own check, run "
                "when they ended"
            )
        else:
            lines.append(f"{count:,} trajectories have no verdict of a check")
    parts = """SELECT DISTINCT env, json_extract_string(check_result, '$.parts[*].name') FROM trajectories
      WHERE fault IS NULL AND check_result IS NOT NULL ORDER BY ALL"""
    lines += [
        f"the check of `{env}` has the parts {', '.join(names)}"
        for env, names in asked(ledger, parts)
        if names
    ]
    filters = [
        entry
        for report in reports(ledger).values()
        if report["kind"] == "filter"
        for entry in report["filters"]
    ]
    lines.append(
        "filters, over the run's valid trajectories: "
        + ", ".join(f"`{one['name']}`" for one in filters)
        if filters
        else "no filter judged the trajectories"
    )
    ran = {one["name"] for one in filters}
    if "reexecuted" not in ran:
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
        lines.append(f"`{config.name}` honours the decisions of {_honoured(config)}")
    rows = [
        (
            one["name"],
            METHODS.get(one["name"], ("a filter of the user's own", ""))[0],
            *(f"{sum(one[key].values()):,}" for key in ("kept", "dropped", "undefined")),
        )
        for one in filters
    ]
    listed = "\n".join(f"- {in_markdown(line)}." for line in lines)
    return listed + (
        "\n\n" + table(("filter", "what it does", "kept", "dropped", "undefined"), rows)
        if rows
        else ""
    )


def _honoured(config: Config) -> str:
    names = binding(kind_of(config.kind).rule, config.release)
    return (
        "every filter"
        if names is None
        else ", ".join(f"`{name}`" for name in sorted(names)) or "no filter"
    )


def funnel_and_faults(ledger: Ledger) -> str:
    """What went into each stage and what went on; attempts that the machinery broke."""
    said = []
    for view, what in (
        ("trajectories", "attempts of this flow"),
        ("trajectories_all", "attempts in the run directory (evidence, other flows)"),
    ):
        faults = asked(
            ledger,
            f"SELECT fault, count(*) FROM {view} WHERE fault IS NOT NULL GROUP BY fault ORDER BY "
            "2 DESC, 1",
        )
        ((total,),) = asked(ledger, f"SELECT count(*) FROM {view}")
        named = f" ({', '.join(f'{count:,} {fault}' for fault, count in faults)})" if faults else ""
        said.append(f"{sum(count for _, count in faults):,} of {total:,} {what}{named}")
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
        control = report.get("control")
        if share is not None:
            tests = (
                f" (A/A control: {control['accepted']} of {control['tests']} accepted)"
                if control
                else ""
            )
            lines.append(
                f"`{stage}`: an expected {share:.1%} of the labels that rest on statistics are "
                f"false{tests}"
            )
        elif "expected_false_share" in report or "false_share" in report:
            lines.append(
                f"`{stage}`: not measured (no A/A control came to a verdict{_flips(report)})"
            )
    return (
        "\n".join(f"- {in_markdown(line)}." for line in lines)
        or "No stage of this run made labels that rest on statistics, so no rate was measured."
    )


def _flips(report: Mapping[str, Any]) -> str:
    flips = report.get("methods", {}).get("flip_deterministic")
    return (
        f"; {flips:,} labels rest on flips of a deterministic policy, which need none"
        if flips
        else ""
    )


def authors(ledger: Ledger) -> str:
    """Policies and models with revisions and sampling, of the episodes and of roles that were asked
    beside them.
    """
    sql = """SELECT role, policy, model, weights_id, authorship, sampling, count(*) FROM trajectories WHERE fault IS NULL
      GROUP BY ALL ORDER BY ALL"""
    rows = [
        (
            role or "-",
            policy or "-",
            model or "-",
            _revision(model, weights),
            authorship,
            sampling if sampling not in (None, "{}") else "-",
            f"{n:,}",
        )
        for role, policy, model, weights, authorship, sampling, n in asked(ledger, sql)
    ]
    found = table(
        ("role", "policy", "model", "revision", "written by", "sampling", "trajectories"), rows
    )
    replies = asked(
        ledger,
        "SELECT role, model, weights_id, purpose, count(*) FROM replies GROUP BY ALL ORDER BY ALL",
    )
    users = """SELECT 'user', user_model, NULL, 'plays the user', sum(user_calls) FROM trajectories WHERE user_calls > 0
      GROUP BY ALL ORDER BY ALL"""
    replies += asked(ledger, users)
    if replies:
        others = [
            (role, model or "-", _revision(model, weights), purpose or "-", f"{n:,}")
            for role, model, weights, purpose, n in replies
        ]
        found += "\n\n" + table(
            ("role beside the episodes", "model", "revision", "for", "replies"), others
        )
    return found


def _revision(model: str | None, weights: str | None) -> str:
    return weights or ("not told" if model else "-")


def cost_by_method(ledger: Ledger, facts: Mapping[str, RowFacts]) -> str:
    """All attempts count, failed ones and faults too; what a method cost over the rows that it gave
    each configuration.
    """
    spent: dict[str, dict[str, Any]] = {}
    for row in cost(ledger)["by"]:
        one = spent.setdefault(
            row["synthesizer"] or row["stage"],
            {"attempts": 0, "tokens": 0, "usd": 0.0, "unpriced": 0},
        )
        one["attempts"] += row["attempts"] if row["policy"] is not None else 0
        one["tokens"] += row["prompt_tokens"] + row["completion_tokens"]
        one["usd"] += row["known_cost_usd"] or 0.0
        one["unpriced"] += row["unpriced_calls"]
    rows = []
    for method, one in sorted(spent.items()):
        kept = {
            name: found.composition["synthesizer"][method]
            for name, found in facts.items()
            if found.composition["synthesizer"][method]
        }
        for name, count in (kept or {"-": 0}).items():
            rows.append(
                (
                    method,
                    name,
                    f"{count:,}",
                    f"{one['attempts']:,}",
                    *_per_row(one, count),
                    _price(one),
                )
            )
    if not rows:
        return "Nothing was spent here: the trajectories were imported."
    columns = (
        "method",
        "configuration",
        "rows",
        "attempts",
        "attempts per row",
        "tokens per row",
        "price per row",
        "the method in all",
    )
    return (
        table(columns, rows)
        + "\n\nRows that rest on several trajectories (pairs, step values, tasks) do not name "
        "one method, and count under none."
    )


def _per_row(one: Mapping[str, Any], rows: int) -> tuple[str, str, str]:
    """Attempts, tokens and price over the rows; a price that is not known in full is none."""
    if not rows:
        return "-", "-", "-"
    price = f"${one['usd'] / rows:.4g}" if one["tokens"] and not one["unpriced"] else "-"
    return f"{one['attempts'] / rows:.2f}", f"{one['tokens'] / rows:,.0f}", price


def _price(one: Mapping[str, Any]) -> str:
    if not one["tokens"]:
        return "no model was asked"
    unpriced = (
        f", without {one['unpriced']:,} calls whose price is not known" if one["unpriced"] else ""
    )
    return f"{one['tokens']:,} tokens, ${one['usd']:,.4g}{unpriced}"


def methods(ledger: Ledger) -> str:
    """The stages and filters of the flow, with their sources."""
    rows = []
    for name in _stage_names(ledger):
        what, source = (
            METHODS.get(name, ("", ""))
            if name in METHODS
            else ("a part of the user's own", "not told")
        )
        rows.append((name, what, source or "-"))
    return (
        table(("part", "what it does", "source"), rows)
        if rows
        else "Nothing but import and export."
    )


def _stage_names(ledger: Ledger) -> Iterator[str]:
    silent = {"tasks", "calibrate"}
    for stage, report in reports(ledger).items():
        if report["kind"] == "filter":
            yield from (one["name"] for one in report["filters"])
        elif (
            report["kind"] not in ("export", "report", "selection", "calibration", "imported")
            and stage not in silent
            and stage != IMPORT
        ):
            yield stage


def limits(ledger: Ledger, facts: Mapping[str, RowFacts]) -> str:
    """What the dataset does not show."""
    ((tasks, worlds_),) = asked(
        ledger,
        "SELECT count(DISTINCT task_id), count(DISTINCT env) FROM trajectories WHERE fault IS NULL",
    )
    lines = [
        f"{tasks:,} tasks in {worlds_} world{'s' if worlds_ != 1 else ''}: what is learnt may not "
        "carry over to others",
        "a check says that the goal was reached, not that every step on the way was justified",
    ]
    if any(found.scripted for found in facts.values()):
        lines.append(
            "rows written by scripts have the narrow wording of a program; no language model "
            "wrote them"
        )
    if any(found.gold_informed for found in facts.values()):
        lines.append("rows with `gold_informed` show what guidance that knew the answer led to")
    lines.append("whether training on these rows helps was not measured in this run")
    return "\n".join(f"- {in_markdown(line)}." for line in lines)
