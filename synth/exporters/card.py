"""The data set card."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from synth.exporters.evidence_class import configurations, told
from synth.exporters.kinds.skills import SKILLS
from synth.exporters.notes import most_first, notes
from synth.exporters.tally import ExportCounts
from synth.schemas import front_matter, in_cell, in_markdown

_CUT = {
    "whole": "",
    "context": ", one row per run of turns with loss, what stands before them in the prompt",
    "per_turn": ", one row per turn with loss",
}
_BEGUN = ", one row per trajectory, up to its first turn without loss"
_TOP = 20  # values named per table
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
"""The Hub's names for numbers of up to three digits, of four, and so on."""

_SKILLS = (
    f"`{SKILLS}`: what a model has distilled from the chains of attempts that some of these rows "
    "end, a text per `trajectory_id`; "
    "no row is trained on it."
)


def card(tally: ExportCounts, files: Collection[str]) -> str:
    """A README.md: metadata that the Hub and `load_dataset` read, then warnings, then
    what the rows rest on, then what is inside and what was left out.

    Shards are listed by name: one that is lost is an error when the set is loaded, not fewer rows.
    Files that hold one row each are not.
    """
    parts = configurations(name for name in files if name.endswith(".parquet"))
    folder = "path/to/this/folder"
    if len(parts) > 1 and "default" not in parts:
        folder += f'", "{next(iter(parts))}'
    lines = [
        _metadata(tally, parts),
        *[line for note in _said(tally) for line in (in_markdown(note), "")],
        f"# {tally.kind.title}",
        "",
        f"{tally.rows} rows{_loss(tally)}; form "
        f"{tally.form.name}{_BEGUN if tally.form.begun else _CUT[tally.unroll]}. "
        f"{tally.kind.one_row}",
        "",
        "## Training" if parts else "## Reading",
        "",
        *tally.form.training(folder).splitlines(),
        "",
        *((_SKILLS, "") if SKILLS in files else ()),
        *_table("Turns without loss", "reason", tally.masked),
        *_table("What the form cannot say", "what is lost", tally.unsaid),
        *_table("Left out by this export", "reason", tally.left_out),
        *_table("Dropped by filters", "filter: reason", tally.filtered),
    ]
    for column, counter in tally.composition.items():
        lines += _table(f"Rows by {column}", column, counter)

    return "\n".join(lines).rstrip() + "\n"


def _metadata(tally: ExportCounts, parts: Mapping[str, Sequence[str]]) -> str:
    """What the Hub and `load_dataset` read; a lost shard is then an error of loading, not fewer
    rows.
    """
    loaded = [
        {
            "config_name": name,
            "data_files": [{"split": "train", "path": paths}],
            **({"default": True} if name == "default" and len(parts) > 1 else {}),
        }
        for name, paths in parts.items()
    ]
    return front_matter(
        {
            **({"configs": loaded} if loaded else {}),
            "task_categories": ["text-generation"],
            "tags": ["agent", "tool-use"],
            "size_categories": [size_category(tally.rows)],
        }
    ).rstrip()


def _said(tally: ExportCounts) -> list[str]:
    """Warnings, then what the rows rest on, then all other notes."""
    found = list(notes(tally))
    warnings = sum(note.startswith("WARNING") for note in found)
    found[warnings:warnings] = [told(tally.evidence, tally.judged)] if tally.evidence else []
    return found


def size_category(rows: int) -> str:
    """The Hub's name for a number of rows."""
    at = max(0, len(str(rows)) - 3)
    return _SIZES[at] if at < len(_SIZES) else "n>1T"


def _loss(tally: ExportCounts) -> str:
    counts = tally.counts
    return (
        f", {counts['trained_turns']:,} assistant turns with loss ({loss_size(*tally.loss())})"
        if counts["trained_turns"]
        else ""
    )


def loss_size(size: int, unit: str) -> str:
    """How much carries loss, as the cards of folders and of the Hub say it; nothing counts it in
    rows of single turns.
    """
    return f"{size:,} {unit}" if size else "size not counted"


def _table(title: str, column: str, counter: Counter[str]) -> list[str]:
    if not counter:
        return []

    rows = most_first(counter)
    cells = [f"| {in_cell(name)} | {count} |" for name, count in rows[:_TOP]]
    if rest := rows[_TOP:]:
        cells.append(f"| {len(rest)} others | {sum(count for _, count in rest)} |")

    return [f"## {title}", "", f"| {in_cell(column)} | count |", "|---|---|", *cells, ""]
