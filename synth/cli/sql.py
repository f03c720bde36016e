"""`synth sql`: DuckDB over the ledger."""

import json
import math
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import click


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("query", metavar="'SELECT ...'")
@click.option("--json", "as_json", is_flag=True, help="An array of objects; NaN as null, times in ISO form.")
def sql(run: str, query: str, as_json: bool) -> None:
    """Ask the ledger in SQL; each table also as <table>_all, with the rows of former flows.

    \b
    Example:  synth sql runs/quickstart "SELECT outcome, count(*) AS n FROM trajectories GROUP BY outcome"
    """
    from synth.ledger.ledger import Ledger
    from synth.ledger.views import query as ask

    ledger = Ledger(run)
    for line in ledger.state.lost:
        click.echo(line, err=True)
    answer = ask(ledger, query)
    names = [column[0] for column in answer.description or []]
    rows = answer.fetchall()
    if as_json:
        json.dump([dict(zip(names, map(_plain, row), strict=True)) for row in rows], sys.stdout, ensure_ascii=False, allow_nan=False)
        print()
        return
    _print_table(names, rows)


def _print_table(names: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Aligned columns; long cells are cut on a terminal only."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(*names, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*("" if value is None else str(_plain(value)) for value in row))
    if console.is_terminal:
        console.print(table)
        return
    for row in [tuple(names), *rows]:
        print("\t".join("" if value is None else str(_plain(value)).replace("\t", " ").replace("\n", "\\n") for value in row))


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
