"""The comparison at equal cost as Markdown: one column per reflector, the gold-informed one
apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.schemas.printable import in_cell
from synth.synthesizers.reflection.arms import ARMS
from synth.synthesizers.reflection.equal_budget import EFFECTS, ROWS, TASKS

NO_CLAIM = "gold-informed, supports no claim"


def equal_budget_table(found: Sequence[Mapping[str, Any]]) -> str:
    """Arms and effects, for each comparison a column."""
    names = [
        f"{each['reflector']}{f' ({NO_CLAIM})' if each['gold_informed'] else ''}" for each in found
    ]
    lines = ["| | " + " | ".join(map(in_cell, names)) + " |", "|---|" + "---|" * len(names)]
    lines.append(
        _row("failed trials (tasks)", [f"{each['trials']:,} ({each['tasks']:,})" for each in found])
    )
    for arm, title in ARMS.items():
        lines.append(
            _row(
                f"{title}: rows / 1M (tasks newly solved)",
                [_arm(each["arms"][arm]) for each in found],
            )
        )
    for name in EFFECTS:
        for endpoint in (ROWS, TASKS):
            short = "rows / 1M" if endpoint == ROWS else "tasks"
            lines.append(
                _row(
                    f"{name}, {short}",
                    [_effect(each["effects"][f"{name}: {endpoint}"]) for each in found],
                )
            )
    return "\n".join(lines)


def in_words(found: Mapping[str, Any]) -> list[str]:
    """For the funnel: the two effects that matter."""
    lines = []
    for name in ("guidance (d - b)", "net (d - a)"):
        lines.append(
            f"equal budget, {name}: {_effect(found['effects'][f'{name}: {ROWS}'])} ({ROWS})"
        )
    return lines


def _arm(arm: Mapping[str, Any]) -> str:
    rows = "none" if arm[ROWS] is None else f"{arm[ROWS]:.1f}"
    over = (
        f", {100 * arm['overrun'] / arm['price']:.0f} % overrun"
        if arm["overrun"] and arm["price"]
        else ""
    )
    return f"{rows} ({arm[TASKS]:.0f}); {arm['kept']:,} of {arm['episodes']:,} episodes{over}"


def _effect(effect: Mapping[str, Any]) -> str:
    interval = "" if effect["low"] is None else f" [{effect['low']:+.1f}, {effect['high']:+.1f}]"
    return f"{effect['difference']:+.1f}{interval}: {effect['verdict']}"


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {in_cell(name)} | " + " | ".join(map(in_cell, cells)) + " |"
