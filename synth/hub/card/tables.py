"""What the card tells of the ledger: queries whose columns it shows as they are named, and tables
that need the rows or the stages' reports beside them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from synth.engine.table import Table
from synth.exporters.card import loss_size
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger.log.state import IMPORT
from synth.schemas import in_code
from synth.text.data_files import read as read_file

Reports = Mapping[str, Mapping[str, Any]]
_OWN = ("a filter of the user's own", "")
_NOT_METHODS = ("export", "report", "selection", "calibration", "imported")
"""Kinds of reports."""
_REVISION = "coalesce(weights_id, if(model IS NULL, '-', 'not told'))"

ENVS = "SELECT DISTINCT env FROM trajectories WHERE fault IS NULL AND env <> '' ORDER BY env"
_ATTEMPTS = {
    "attempts of this flow": "trajectories",
    "attempts in the run directory (evidence, other flows)": "trajectories_all",
}
_FAULTS = """SELECT '{what}', coalesce(sum(n), 0)::BIGINT,
    coalesce(sum(n) FILTER (fault IS NOT NULL), 0)::BIGINT,
    string_agg(format('{{:,}} {{}}', n, fault), ', ' ORDER BY n DESC, fault)
      FILTER (fault IS NOT NULL)
  FROM (SELECT fault, count(*) AS n FROM {view} GROUP BY fault)"""
QUERIES = {
    "authors": f"""SELECT coalesce(role, '-') AS role, coalesce(policy, '-') AS policy,
    coalesce(model, '-') AS model, {_REVISION} AS revision, authorship AS "written by",
    coalesce(nullif(sampling, '{{}}'), '-') AS sampling, format('{{:,}}', n) AS trajectories
  FROM (SELECT role, policy, model, weights_id, authorship, sampling, count(*) AS n
    FROM trajectories WHERE fault IS NULL GROUP BY ALL ORDER BY ALL)""",
    "beside": f"""SELECT role AS "role beside the episodes", coalesce(model, '-') AS model,
    {_REVISION} AS revision, coalesce(purpose, '-') AS for, format('{{:,}}', n) AS replies
  FROM (SELECT role, model, weights_id, purpose, count(*) AS n FROM replies
    GROUP BY ALL ORDER BY ALL)
  UNION ALL
  SELECT 'user', coalesce(user_model, '-'), if(user_model IS NULL, '-', 'not told'),
    'plays the user', format('{{:,}}', calls)
  FROM (SELECT user_model, sum(user_calls)::BIGINT AS calls FROM trajectories
    WHERE user_calls > 0 GROUP BY user_model ORDER BY ALL)""",
    "checked": """SELECT format(CASE
    WHEN imported THEN '{:,} trajectories were imported: their outcome is what their source says; '
      || 'nothing was executed here for it'
    WHEN checked THEN '{:,} trajectories have a verdict of their environment''s own check, '
      || 'run when they ended'
    ELSE '{:,} trajectories have no verdict of a check' END, n)
  FROM (SELECT stage = 'import' AS imported,
      stage <> 'import' AND check_result IS NOT NULL AS checked, count(*) AS n
    FROM trajectories WHERE fault IS NULL GROUP BY ALL)
  ORDER BY imported, checked""",
    "checks": """SELECT DISTINCT env, json_extract_string(check_result, '$.parts[*].name')
  FROM trajectories WHERE fault IS NULL AND check_result IS NOT NULL ORDER BY ALL""",
    "costs": """SELECT coalesce(synthesizer, stage) AS method,
    count(*) FILTER (policy IS NOT NULL) AS attempts,
    coalesce(sum(prompt_tokens + completion_tokens), 0)::BIGINT AS tokens,
    coalesce(sum(cost_usd), 0)::DOUBLE AS usd,
    coalesce(sum(unpriced_calls), 0)::BIGINT AS unpriced
  FROM spending GROUP BY method ORDER BY method""",
    "faults": " UNION ALL ".join(
        _FAULTS.format(what=what, view=view) for what, view in _ATTEMPTS.items()
    ),
    "imported": "SELECT stage = 'import', count(*) FROM trajectories GROUP BY ALL",
    "sources": """SELECT split_part(source, ':', 1), count(DISTINCT split_part(source, ':', 2)),
    count(*) FROM trajectories WHERE stage = 'import' AND fault IS NULL
    GROUP BY ALL ORDER BY ALL""",
    "counts": """SELECT count(DISTINCT task_id), count(DISTINCT env) FROM trajectories
  WHERE fault IS NULL""",
    "worlds": """SELECT env, stage = 'import' AS imported,
    coalesce(array_to_string(list_sort(list(DISTINCT
      json_extract_string(check_result, '$.version'))), ', '), ''),
    (SELECT format('{:,}', count(*)) FROM tasks WHERE tasks.env = played.env),
    format('{:,}', count(*))
  FROM trajectories AS played WHERE fault IS NULL GROUP BY ALL ORDER BY env, imported""",
}
"""By the name that the card knows their rows by."""


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    return Table("", columns, rows).markdown().rstrip("\n")


def known_methods() -> Mapping[str, tuple[str, str]]:
    """Name of a stage or filter -> (what it does, source)."""
    return read_file("hub/data/methods.yaml", dict[str, tuple[str, str]])


def configurations(configs: Sequence[Config], facts: Mapping[str, RowFacts]) -> str:
    """What may be loaded, with what carries loss in it."""
    rows = []

    for config in configs:
        report, turns = config.report, config.report["trained_turns"]
        loss = loss_size(report.get("loss", 0), report.get("loss_unit", "characters"))

        # rows of tasks and causes carry no loss
        told = (f"{turns:,}", loss) if turns else ("-", "-")
        size = f"{facts[config.name].rows:,}"
        rows.append((in_code(config.name), config.kind, size, *told, config.form))

    columns = ("configuration", "kind", "rows", "turns with loss", "size of what carries loss")
    return table((*columns, "form"), rows)


def judged(filters: Iterable[Mapping[str, Any]]) -> str:
    """What each filter decided."""
    keys = ("kept", "dropped", "undefined")
    rows = []

    for one in filters:
        what, _ = known_methods().get(one["name"], _OWN)
        rows.append((one["name"], what, *(f"{sum(one[key].values()):,}" for key in keys)))

    return table(("filter", "what it does", *keys), rows)


def worlds(found: Sequence[tuple[Any, ...]], played: Mapping[str, tuple[str, str]]) -> str:
    """Each world with version and licence, as the stages that played in it recorded them; of
    imports, what their format tells.
    """
    # their format tells neither
    imports = ("not known: imported",) * 2
    rows = [
        (env, *(imports if imported else played[env]), checks or "not recorded", *counts)
        for env, imported, checks, *counts in found
    ]

    columns = ("world", "version", "licence", "version of its check", "tasks", "trajectories")
    return table(columns, rows)


def cost_by_method(
    spent: Sequence[tuple[str, int, int, float, int]], facts: Mapping[str, RowFacts]
) -> str:
    """What a method cost over the rows that it gave each configuration."""
    rows = []

    # a method that gave no row is told with what it cost
    for method, attempts, tokens, usd, unpriced in spent:
        without = f", without {unpriced:,} calls whose price is not known" if unpriced else ""
        told = f"{tokens:,} tokens, ${usd:,.4g}{without}" if tokens else "no model was asked"
        counts = {name: found.composition["synthesizer"][method] for name, found in facts.items()}

        # failed attempts are in the price of what was kept
        kept = {name: count for name, count in counts.items() if count}
        each = {
            name: (
                f"{attempts / count:.2f}",
                f"{tokens / count:,.0f}",
                f"${usd / count:.4g}" if tokens and not unpriced else "-",
            )
            for name, count in kept.items()
        }

        for name, per_row in (each or {"-": ("-", "-", "-")}).items():
            count = f"{kept.get(name, 0):,}"
            rows.append((method, name, count, f"{attempts:,}", *per_row, told))

    columns = ("method", "configuration", "rows", "attempts", "attempts per row")
    return table((*columns, "tokens per row", "price per row", "the method in all"), rows)


def methods(reports: Reports) -> str:
    """The stages and filters of the flow, with their sources."""
    rows = []

    for name in _parts(reports):
        what, source = known_methods().get(name, ("a part of the user's own", "not told"))
        rows.append((name, what, source or "-"))

    columns = ("part", "what it does", "source")
    return table(columns, rows) if rows else "Nothing but import and export."


def _parts(reports: Reports) -> Iterator[str]:
    for stage, report in reports.items():
        if report["kind"] == "filter":
            yield from (one["name"] for one in report["filters"])
        elif report["kind"] not in _NOT_METHODS and stage not in ("tasks", "calibrate", IMPORT):
            yield stage
