"""Datasets below a run: their digests are committed to its manifest, and those of another flow are
not replaced unasked.
"""

from collections.abc import Mapping
from pathlib import Path

from synth.exporters.folder.dataset_folder import DatasetFolder, Replace
from synth.exporters.folder.manifest import read_manifest
from synth.exporters.kind import Spelling, as_key
from synth.ledger.atomic_write import NO_STAGE, in_run
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import WrittenFile, WrittenLine
from synth.ledger.log.verify_written import DATASETS
from synth.ledger.storage import Storage
from synth.schemas import ConfigError


def dataset_in(
    ledger: StoredLedger,
    folder: str,
    *,
    replace: Replace,
    flow: str = "",
    ref: StageRef = NO_STAGE,
    say: Spelling = as_key,
) -> DatasetFolder:
    """The dataset in a folder of a run, written by a stage of a flow or by neither; a line of the
    manifest names it before it stands.
    """

    def name(files: Mapping[str, WrittenFile]) -> None:
        ledger.name_written(
            WrittenLine(in_run(folder, files), folder, flow, ref.stage, ref.stage_key)
        )

    # lines of former flows name files too: ours, though nobody's any more
    known = [path for path in ledger.state.formerly if path.startswith(f"{folder}/")]
    ours = [path.removeprefix(f"{folder}/") for path in known]
    stage_key = ref.stage_key or None

    return DatasetFolder(
        ledger.storage.path(folder),
        replace=replace,
        stage_key=stage_key,
        say=say,
        named=name,
        ours=ours,
    )


def folder_in(ledger: StoredLedger, out: str) -> str | None:
    """The dataset folder of the run that a path means, if it means one: `datasets/...`."""
    if not ledger.storage.local or "://" in out:
        inside = (
            out.rstrip("/").removeprefix(f"{ledger.storage.url}/")
            if out.startswith(f"{ledger.storage.url}/")
            else ""
        )
    else:
        target, root = Path(out).resolve(), Path(ledger.storage.root).resolve()
        inside = target.relative_to(root).as_posix() if target.is_relative_to(root) else ""

    return inside if inside.startswith(f"{DATASETS}/") else None


def owner(ledger: StoredLedger, folder: str) -> str | None:
    """The name of the flow whose dataset stands in a folder of a run; "" where none of its flows
    wrote it, None where none stands.
    """
    if not ledger.storage.names(folder):
        return None

    # datasets of earlier versions have no line, but the stage's key in their manifest
    line = ledger.state.written.get(folder)
    if line is not None:
        return line.flow

    manifest = read_manifest(Storage(ledger.storage.path(folder)))

    return None if manifest is None else ledger.state.flow_of.get(manifest.stage_key or "", "")


def of_others(ledger: StoredLedger, folder: str, flow: str) -> str | None:
    """Whose dataset stands in a folder of a run, where it is not this flow's: the flow replaces it
    with `overwrite` only.
    """
    wrote = owner(ledger, folder)
    if wrote is None or wrote == flow:
        return None

    return (
        f"the dataset of the flow {wrote!r}"
        if wrote
        else "a dataset that no flow of this run wrote"
    )


def overwriting(stage: str) -> str:
    """What is given to `synth run` to have an export stage replace what stands there."""
    return f"--set stages.{stage}.overwrite=true"


def refuse_others(ledger: StoredLedger, folder: str, flow: str, stage: str) -> None:
    """Raises `ConfigError` where the dataset of another flow stands: one with another `name`,
    whatever its settings are.
    """
    whose = of_others(ledger, folder, flow)
    if whose is not None:
        raise ConfigError(
            f"{ledger.storage.path(folder)}: holds {whose}, and the flow {flow!r} would replace "
            "it; give its export a `name`, name another "
            f"run directory, or have it replaced: {overwriting(stage)}"
        )
