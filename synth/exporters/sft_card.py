"""The data set card of an SFT export."""

from collections import Counter
from collections.abc import Iterable

from synth.exporters.sft_tally import SftTally

_TOP = 20  # values named per table


def sft_card(tally: SftTally, shards: Iterable[str]) -> str:
    """A README.md: metadata that the Hub and `load_dataset` read, then warnings, then what is inside and what was left out.

    Shards are listed by name: one that is lost is an error when the set is loaded, not fewer rows.
    """
    size = next((name for limit, name in _SIZES if tally.rows < limit), "n>1T")
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path:",
        *[f"    - {name}" for name in shards],
        "task_categories:",
        "- text-generation",
        "tags:",
        "- agent",
        "- tool-use",
        "size_categories:",
        f"- {size}",
        "---",
        *[line for note in tally.notes() for line in (note, "")],
        "# Agent trajectories for supervised fine-tuning",
        "",
        f"{tally.rows} rows, {tally.trained_turns} assistant turns with loss; form {tally.form.name}. One row is one trajectory: "
        "`messages` as the model saw them, `tools` as their schemas were shown to it, and where it comes from.",
        "",
        "`trained_turns` are the assistant messages (counted from 0) that carry loss, `masked_turns` the others with the reason.",
        "",
        "`outcome` is `success` where the environment's own check passed, or, in rows that were imported, where their source says so: a "
        "reward of at least 1 unless it names the outcome itself. `reward` is the number that the environment or the source gave.",
        "",
        "## Training",
        "",
        *tally.form.training("path/to/this/folder").splitlines(),
        "",
        *_table("Turns without loss", "reason", tally.masked),
        *_table("Trajectories left out by this export", "reason", tally.left_out),
        *_table("Trajectories dropped by filters", "filter: reason", tally.filtered),
    ]
    for column, counter in tally.composition.items():
        lines += _table(f"Rows by {column}", column, counter)
    return "\n".join(lines).rstrip() + "\n"


_SIZES = [(10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"), (10**8, "10M<n<100M")]


def _table(title: str, column: str, counter: Counter[str]) -> list[str]:
    if not counter:
        return []
    rows = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    cells = [f"| {_cell(name)} | {count} |" for name, count in rows[:_TOP]]
    if rest := rows[_TOP:]:
        cells.append(f"| {len(rest)} others | {sum(count for _, count in rest)} |")
    return [f"## {title}", "", f"| {column} | count |", "|---|---|", *cells, ""]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
