"""Which of a run's datasets go out: those of the current flow's export stages, as they stand on the
disk.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synth.exporters.evidence_class import UNASKED, configurations
from synth.exporters.folder.in_run import of_others, overwriting
from synth.exporters.folder.manifest import Manifest, read_manifest, why_to_write
from synth.exporters.kinds.skills import SKILLS
from synth.exporters.registry import KINDS
from synth.hub.publication import File
from synth.ledger.atomic_write import dataset_fault
from synth.ledger.ledger import StoredLedger
from synth.ledger.storage import Storage
from synth.ledger.storage.names import plain
from synth.report.sections.funnel import reports
from synth.schemas import ConfigError, Release, digest


class Config(msgspec.Struct, frozen=True):
    """One configuration of the dataset on the Hub: a folder under RUN/datasets, or those of its
    rows that rest on one class of evidence. What is loaded unasked is called as the folder, all
    else `<folder>_<class>`; `views` are classes of this one that can be named too.

    `files`: its parquet shards by name, as they go out; `skills`: the skill texts beside them, if
    there are any; `report` and `settings` are the export's.
    """

    name: str
    kind: str
    form: str
    files: Mapping[str, File]
    report: Mapping[str, Any]
    settings: Mapping[str, Any]
    skills: File | None = None
    views: Mapping[str, Sequence[str]] = {}
    part_of: str = ""

    @property
    def folder(self) -> str:
        """Its name in the repository and under RUN/datasets."""
        return self.part_of or self.name

    @property
    def loaded(self) -> dict[str, Iterable[str]]:
        """The shards that `load_dataset` gives by each name."""
        return {self.name: self.files, **self.views}

    @property
    def release(self) -> Release:
        """The release settings that the export had."""
        return Release(**{k: v for k, v in self.settings.items() if k in Release.model_fields})


class HubFound(msgspec.Struct, frozen=True):
    """The configurations, and a line for each dataset that is none."""

    configs: tuple[Config, ...]
    left_out: tuple[str, ...]


def found(ledger: StoredLedger, kinds: Sequence[str], aside: Path) -> HubFound:
    """The datasets of the run, those of `kinds` (kinds or names of folders) where any are named.

    Shards that lie on an object store are copied to `aside`. Raises `ConfigError` where there are
    none, where one does not stand as the
    current flow wrote it, and for a kind that is not there.
    """
    order = list(KINDS)
    all_of_them = sorted(
        _reported(ledger), key=lambda entry: (order.index(entry[2]["kind"]), entry[0])
    )
    if not all_of_them:
        raise ConfigError(
            f"{ledger.storage.url}: holds no datasets of its current flow; give the flow a stage "
            "`export` and run it to its end "
            "(`synth curate RUN FLOW.yaml` for what was imported)"
        )
    known = sorted(
        {name for name, _, _ in all_of_them} | {report["kind"] for _, _, report in all_of_them}
    )
    for kind in kinds:
        if kind not in known:
            raise ConfigError(
                f"--kinds {kind}: {ledger.storage.url} holds no such dataset; there are "
                f"{', '.join(known)}"
            )
    chosen = [
        entry
        for entry in all_of_them
        if not kinds or entry[0] in kinds or entry[2]["kind"] in kinds
    ]
    configs, left_out = list[Config](), list[str]()
    for name, stage, report in chosen:
        if report["rows"] == 0:
            left_out.append(f"{name}: no rows: {report['empty']}")
            continue
        config = _config(ledger, name, stage, report, aside)
        if config is None:
            left_out.append(
                f"{name}: has files that are no parquet shards, which configurations on the Hub "
                "are made of; export it in another form"
            )
        else:
            configs += by_evidence(config)
    if not configs:
        raise ConfigError(f"{ledger.storage.url}: nothing to publish: {'; '.join(left_out)}")
    return HubFound(tuple(configs), tuple(left_out))


def _reported(ledger: StoredLedger) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(folder's name, the stage that wrote it, its report)."""
    for stage, report in reports(ledger).items():
        if report["kind"] == "export":
            for name, dataset in report["datasets"].items():
                if not plain(name) or dataset["path"] != f"datasets/{name}":
                    raise ConfigError(
                        f"{ledger.storage.url}: {name[:80]!r} is no dataset folder of this run; "
                        "nothing is sent from there"
                    )
                yield name, stage, dataset


def _config(
    ledger: StoredLedger, name: str, stage: str, report: Mapping[str, Any], aside: Path
) -> Config | None:
    """The whole folder; None where it has files that are no parquet shards."""
    _require_whole(ledger, stage, report)
    storage = Storage(ledger.storage.path(report["path"]))
    manifest = read_manifest(storage)
    assert manifest is not None
    shards = [file for file in manifest.files if file.endswith(".parquet")]
    if not shards or set(manifest.files) - {*shards, SKILLS}:
        return None

    def here(file: str) -> Path:
        return _here(storage, file, manifest, aside / name)

    files = {file: File(f"{name}/{file}", here(file)) for file in shards}
    told = File(f"{name}/{SKILLS}", here(SKILLS).read_bytes()) if SKILLS in manifest.files else None
    return Config(name, report["kind"], manifest.form, files, report, manifest.settings, told)


def _require_whole(ledger: StoredLedger, stage: str, report: Mapping[str, Any]) -> None:
    """Raises `ConfigError` where a dataset does not stand as a stage of the current flow wrote
    it.
    """
    url = ledger.storage.path(report["path"])
    problem = why_to_write(url, ledger.state.stages[stage].stage_key)
    if problem is None and report["path"] in ledger.state.written:
        problem = dataset_fault(ledger, report["path"], card=False)
    if problem is not None:
        whose = of_others(ledger, report["path"], str((ledger.state.flow or {}).get("name", "")))
        how, problem = (
            ("", problem)
            if whose is None
            else (f" with {overwriting(stage)}", f"{url}: holds {whose}")
        )
        raise ConfigError(f"{problem}; run the flow again{how}, which writes it anew, then publish")


def by_evidence(whole: Config) -> Iterator[Config]:
    """The configurations of a folder: what is loaded unasked, then each weaker class of evidence.
    Skill texts go with the first.
    """
    parts, name = configurations(whole.files), whole.name
    strong = {one: parts[one] for one in UNASKED if one in parts}
    weak = {one: parts[one] for one in parts if one not in (*UNASKED, "default")}
    if not weak or len(parts) == 1:
        listed: dict[str, Sequence[str]] = {name: list(whole.files)}
    else:
        listed = {name: parts["default"]} if strong else {}
        listed |= {f"{name}_{one}": shards for one, shards in weak.items()}

    for at, (called, shards) in enumerate(listed.items()):
        yield msgspec.structs.replace(
            whole,
            name=called,
            part_of="" if called == name else name,
            files={shard: whole.files[shard] for shard in shards},
            skills=whole.skills if at == 0 else None,
            views={f"{name}_{one}": strong[one] for one in strong}
            if called == name and len(strong) > 1
            else {},
        )


def _here(storage: Storage, file: str, manifest: Manifest, aside: Path) -> Path:
    """A file of a dataset on this machine; its bytes are compared with their digest."""
    if storage.local:
        return Path(storage.path(file))
    blob = storage.read(file)
    if digest(blob) != manifest.files[file].digest:
        raise ConfigError(
            f"{storage.path(file)}: damaged; run the flow again, which writes it anew, then publish"
        )
    try:
        aside.mkdir(parents=True, exist_ok=True)
        (aside / file).write_bytes(blob)
    except OSError as error:
        raise ConfigError(
            f"{aside}: cannot be written: {error.strerror}; what lies on an object store is "
            "copied there first: free some room, or "
            "name another folder with TMPDIR"
        ) from error
    return aside / file
