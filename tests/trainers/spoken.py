"""Two trajectories with what loaders stumble over: thoughts, text beside calls, calls side by side,
null and nested arguments, masks.
"""

from dataclasses import replace
from pathlib import Path

from synth.exporters.export import ExportReport
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.exporters.template import MaskTemplate, student_template
from synth.schemas.trajectory import Observation, Source, Trajectory, Turn
from tests.synth.exporters.solved import call, export_sft, result, trajectory

NESTED = '{"q": "ß \\" <tool>", "n": 2, "none": null, "deep": {"a": [0.3, {}]}}'


def spoken(*, thoughts: bool, masked: bool = False) -> Trajectory:
    """Four turns; the second may be one that must carry no loss."""
    look, end = ("look\nfirst", "it is there") if thoughts else (None, None)
    both = (call('{"q": "b"}', "c2"), call("{}", "c3", "ship"))
    turns = (
        Turn(
            index=0,
            content="I look it up.",
            thought=look,
            tool_calls=(call(NESTED),),
            observations=(result('a <tool> {"x": null}'),),
        ),
        Turn(
            index=1,
            tool_calls=both,
            observations=(result("one", "c2"), result("two", "c3")),
            mask="repeats" if masked else None,
        ),
        Turn(
            index=2,
            content="There: 5 < 6.",
            observations=(Observation("Thanks. <image>", Source.USER),),
        ),
        Turn(index=3, content="Bye.", thought=end),
    )
    return trajectory(f"spoken-{thoughts}-{masked}", turns=turns)


def written(folder: Path, *trajectories: Trajectory, **settings: object) -> ExportReport:
    """Exports them to a folder."""
    return export_sft(
        [(one, {}) for one in trajectories],
        DatasetFolder(folder),
        RowSettings.model_validate(settings),
    )


def of(template: str, student: Path) -> MaskTemplate:
    """A training template of TRL with the small student's tokenizer."""
    return replace(student_template(template), tokenizer=student_template(str(student)).tokenizer)
