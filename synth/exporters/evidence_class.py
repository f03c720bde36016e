"""What a row's label or verdict rests on, as one word in the column `evidence`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from synth.exporters.folder.shards import part_of
from synth.loss_turns import IMPORTED
from synth.pairs.kept_steps import PASSED
from synth.pairs.observed.pair import ObservedPair, ObservedSide
from synth.schemas import KtoLabel, Outcome, PairLabel, PrmLabel, Tier, Trajectory

Evidence = Literal["exact", "tested", "counted", "judged", "declared", "observed"]
"""The strongest first. `exact`: a decisive rule, or a flip of a deterministic policy. `tested`: an
accepted test. `counted`: continuations that no test accepted. `judged`: a model's judgement,
without which the row would not be here. `declared`: a verdict that came with the data. `observed`:
outcomes of trials, or a chat without any verdict.
"""
CLASSES: tuple[Evidence, ...] = get_args(Evidence)
UNASKED: tuple[Evidence, ...] = ("exact", "tested")
"""What `load_dataset` gives where no configuration is named."""
_FLIP = "flip_deterministic"
_JUDGED = (Outcome.SUCCESS, Outcome.FAILURE)


def evidence_of(row: Any) -> Evidence:
    """Of a row's label or, where it is a chat, of its trajectory's verdict. Raises `TypeError` for
    rows of other kinds.
    """
    about = row.trajectory if hasattr(row, "trained") else getattr(row, "label", None)
    if getattr(row, "judged", None):
        return "judged"
    match about:
        case PairLabel():
            return "exact" if about.evidence.method == _FLIP else "tested"
        case KtoLabel():
            return "exact" if about.method == _FLIP else "tested"
        case PrmLabel(tier=Tier.GOLD_RULE):
            return "observed" if about.rule == PASSED else "exact"
        case PrmLabel(tier=Tier.STATISTICAL):
            return "observed"
        case PrmLabel():
            if about.label is None:
                return "counted"
            return "exact" if about.method == _FLIP else "tested"
        case ObservedPair() | ObservedSide():
            return "observed"
        case Trajectory():
            if about.synthesizer != IMPORTED and about.check_result is not None:
                return "exact"
            # cut off, or never judged: nobody has declared anything of it
            return "declared" if about.outcome in _JUDGED else "observed"

    raise TypeError(f"{type(row).__name__} has no evidence")


def configurations(shards: Iterable[str]) -> dict[str, list[str]]:
    """Configuration -> its shards, by their names: one for each class, and before them `default`,
    which is loaded where none is named: the first two classes. Where all rows are of one class its
    configuration is the only one, and so loaded unasked; shards without a class are all `default`.
    """
    by_class = dict[str, list[str]]()
    for name in shards:
        by_class.setdefault(part_of(name) or "", []).append(name)
    if "" in by_class:
        return {"default": by_class[""]}

    strong = [name for one in UNASKED for name in by_class.get(one, ())]
    alone = {"default": strong} if strong else {}
    return alone | {one: by_class[one] for one in CLASSES if one in by_class}


def told(counts: Mapping[str, int], judged: Iterable[str] = ()) -> str:
    """The card's first line behind warnings: how many rows are of which class, the most frequent
    first, and which of them are loaded unasked; `judged`: the agreement of each model that rows
    rest on.
    """
    agreement = "".join(f" Judged by a model ({one})." for one in sorted(judged))
    return f"{_classes(counts)}{agreement}"


def _classes(counts: Mapping[str, int]) -> str:
    """The classes, and what is loaded unasked."""
    each = ", ".join(f"{count:,} {name}" for name, count in Counter(counts).most_common())
    weak = [one for one in CLASSES if one not in UNASKED and one in counts]
    found = f"Evidence of the rows (column `evidence`): {each}."
    if not weak or len(counts) == 1:
        return found

    by_name = ", ".join(f'`load_dataset(..., "{one}")`' for one in weak)
    if len(weak) == len(counts):
        return f"{found} Nothing is loaded unasked; each by its name: {by_name}."
    strong = " and ".join(one for one in UNASKED if one in counts)
    return f"{found} Unasked, `load_dataset` gives {strong} alone; the others by name: {by_name}."
