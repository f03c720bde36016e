"""Trajectories for exports, and their rows as `datasets` reads them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from synth.exporters.export import ExportReport, tally_for, write
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings, Spelling, as_key
from synth.exporters.kinds.sft import SFT, sft_rows
from synth.exporters.kinds.sft_rows import SftRow
from synth.exporters.tally import ExportCounts
from synth.schemas.filtering import Verdict
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn

FIND = {
    "type": "function",
    "function": {
        "name": "find",
        "parameters": {"type": "object", "properties": {"limit": {"maximum": 0.3}}},
    },
}
SHIP = {
    "type": "function",
    "function": {"name": "ship", "description": "Versand – 📦", "parameters": {}},
}


def call(arguments: str, call_id: str = "c1", name: str = "find") -> ToolCall:
    return ToolCall.received(call_id, name, arguments)


def trajectory(identity: str = "t1", **fields: Any) -> Trajectory:
    """A solved trajectory with one call and one answer."""
    turns = (
        Turn(
            index=0,
            content=None,
            thought="look first",
            tool_calls=(call('{"q": "ß", "n": 2}'),),
            observations=(result(),),
        ),
        Turn(index=1, content="Here it is."),
    )
    defaults: dict[str, Any] = {
        "trajectory_id": identity,
        "slot_id": f"slot-{identity}",
        "attempt": 0,
        "task_id": "k",
        "env": "e",
        "trial": 0,
        "synthesizer": "rollout",
        "policy": "p",
        "outcome": Outcome.SUCCESS,
        "termination": Termination.DONE,
        "system_prompt": "Help.",
        "tools": (FIND, SHIP),
        "opening": (Observation("Where is it?", Source.USER),),
        "turns": turns,
        "reward": 1.0,
    }
    return Trajectory(**{**defaults, **fields})


def result(content: str = "row", call_id: str = "c1") -> Observation:
    return Observation(content, Source.TOOL, call_id, "find")


def written(source: Trajectory, *, thoughts: bool = True) -> list[dict[str, Any]]:
    """Its messages as TRL's rows hold them: what says nothing beside its calls has an empty text,
    never null.
    """
    return [
        m | {"content": ""} if m["content"] is None else m
        for m in to_messages(source, thoughts=thoughts)
    ]


def load(folder: Path, cache: Path) -> list[dict[str, Any]]:
    """The rows as `datasets` gives them to a trainer."""
    import datasets

    datasets.disable_progress_bars()
    return list(datasets.load_dataset(str(folder), split="train", cache_dir=str(cache)))


def export(
    tmp_path: Path, *trajectories: Trajectory, **chosen: Any
) -> tuple[list[dict[str, Any]], ExportReport]:
    """The rows of an export of these trajectories, and its report."""
    report = export_sft(
        [(t, {}) for t in trajectories],
        DatasetFolder(tmp_path / "out"),
        RowSettings(**{"keep_masked": True, **chosen}),
    )
    return load(tmp_path / "out", tmp_path / "cache"), report


def export_sft(
    trajectories: Iterable[tuple[Trajectory, Mapping[str, Verdict]]],
    folder: DatasetFolder,
    settings: RowSettings | None = None,
    say: Spelling = as_key,
) -> ExportReport:
    """Writes the trajectories, each with its verdicts by filter name, without a ledger; see
    `synth.exporters.export.write`.
    """

    def rows(tally: ExportCounts) -> Iterator[SftRow]:
        return sft_rows(trajectories, tally)

    return write(tally_for(SFT, rows, settings or RowSettings(), say), rows, folder)
