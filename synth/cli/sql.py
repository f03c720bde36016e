"""`synth sql`: DuckDB over the ledger."""

import itertools
import json
import math
import sys
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from synth.cli.options import command, console, open_run
from synth.schemas import SPACING, ascii_json, printable


@command
def sql(run: str, query: str, as_json: bool) -> None:
    """Ask the ledger in SQL; each table also as <table>_all, with the rows of former flows.

    \b
    Example:  synth sql runs/quickstart "SELECT outcome, count(*) FROM trajectories GROUP BY ALL"
    """
    names, rows = open_run(run).rows(query)
    (_print_json if as_json else _print_table)(names, rows)


def _print_json(names: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    separator = "["
    for row in rows:
        content = dict(zip(names, map(_plain, row), strict=True))
        sys.stdout.write(separator + ascii_json(json.dumps(content, allow_nan=False)))
        separator = ", "
    print("[]" if separator == "[" else "]")


def _print_table(names: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """Aligned columns; long cells are cut on a terminal only."""
    from rich.table import Column, Table
    from rich.text import Text

    out = console()
    if out.is_terminal:
        grid = Table(
            *(Column(Text(printable(name))) for name in names), header_style="bold", pad_edge=False
        )
        for row in rows:
            grid.add_row(*(Text(_shown(value)) for value in row))
        out.print(grid)
        return
    first = next(rows, None)
    print("\t".join(map(printable, names)))
    for row in itertools.chain([] if first is None else [first], rows):
        print("\t".join(_shown(value).replace("\t", " ").replace("\n", "\\n") for value in row))


def _shown(value: Any) -> str:
    """A value as a cell shows it, NULL as nothing."""
    return "" if value is None else printable(str(_plain(value)), SPACING)


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
