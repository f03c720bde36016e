"""Whether what there is holds: environments audited, trajectories executed again, verdicts given
again, and every byte of a run or of a dataset compared with what was committed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.api.opened import Ledger, stored
from synth.api.waiting import waited
from synth.engine.numbers import counted_noun
from synth.engine.progress import progress_for
from synth.engine.runs.replaying import RecheckTally, ReplayTally, recheck_all, replay_all
from synth.envs.audit.audit import audit as asked
from synth.envs.audit.questions import QUESTIONS, AuditQuestion
from synth.envs.audit.report import AuditAnswer as AuditAnswer
from synth.envs.audit.report import AuditLimits, Report
from synth.envs.registry import ENVS
from synth.envs.world import EnvEntry
from synth.exporters.folder.sums import SUMS, folder_problems, is_dataset, read_sums
from synth.flows.environments import Files, bindings_for, bindings_of, said_by_files
from synth.flows.own.bindings import Bindings, private, public, started
from synth.flows.own.flow_file import read_settings
from synth.flows.own.own_flow import Settings
from synth.flows.parts import validated, world
from synth.keys import refuse_literals
from synth.ledger import StoredLedger
from synth.ledger.log import manifest
from synth.ledger.log.verify import Verified, problems
from synth.ledger.log.verify_written import LIVE
from synth.ledger.storage import Storage
from synth.schemas import ConfigError, DamagedError, EnvSpec, Task

AuditReport = Report


def audit(
    env: str | EnvEntry,
    *,
    tasks: int = 20,
    seed: int = 7,
    settings: Settings = (),
    only: Collection[str] = (),
    ledger: Ledger | Path | str | None = None,
    environments: Files = (),
    call_ms: float = 250,
    episode_mb: float = 64,
    limit_s: float = 120,
    quiet: bool = False,
    told: Callable[[AuditAnswer], str | None] = lambda answer: None,
) -> Report:
    """Asks an environment, by name or as it is, every question, or `only` some, about tasks of its
    own.

    `ledger`: about the tasks of a run instead, with their settings. `told` is called with each
    answer as it comes, and
    gives a line to show. What failed stands in `failed` of the report. Raises `ConfigError` for no
    such environment,
    setting or question.
    """
    questions = _questions(only)
    if not -(2**63) <= seed < 2**63:
        raise ConfigError(f"--seed {seed}: a seed has at most 64 bits")
    chosen = dict(settings) if isinstance(settings, Mapping) else read_settings(settings)
    refuse_literals(chosen, "settings: ")
    run = None if ledger is None else stored(ledger)
    name = env if isinstance(env, str) else env.spec.name
    given = [] if run is None else _tasks_of(run, name, tasks)
    bindings = _bindings(run, environments)
    found, config = audited(env, chosen, given[0].env_config if given else {}, bindings)
    progress = progress_for(quiet=quiet)
    progress.start(f"audit {name}", len(questions), "questions")

    def say(answer: AuditAnswer) -> None:
        line = told(answer)
        if line is not None:
            progress.say(line)
        progress.step(1)

    try:
        return waited(
            asked(
                found,
                config,
                seed=seed,
                tasks=tasks,
                limits=AuditLimits(
                    call_ms=call_ms, episode_bytes=int(episode_mb * 2**20), part_s=limit_s
                ),
                questions=questions,
                say=say,
                given=given,
            )
        )
    finally:
        progress.stop()


def list_environments() -> dict[str, EnvSpec | ConfigError]:
    """The environments that synth has, by name: what each can do, or why it is not available."""

    def spec(name: str) -> EnvSpec | ConfigError:
        try:
            return world(name).spec
        except ConfigError as error:
            return error

    return {name: spec(name) for name in sorted(ENVS)}


def _questions(only: Collection[str]) -> Sequence[AuditQuestion]:
    known = [question.name for question in QUESTIONS]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ConfigError(f"--only {unknown[0]}: not a question; known: {', '.join(known)}")
    return [question for question in QUESTIONS if not only or question.name in only]


def _bindings(run: StoredLedger | None, environments: Files) -> Bindings:
    if run is not None:
        return bindings_for(run, environments)
    return bindings_of(said_by_files(environments), named_in="the audit")


def _tasks_of(ledger: StoredLedger, env: str, most: int) -> list[Task]:
    """The first tasks of a run in an environment, by id. Raises `ConfigError` where it has none."""
    wanted = sorted(identity for identity, name in ledger.task_ids().items() if name == env)[:most]
    if not wanted:
        raise ConfigError(f"{ledger.storage.url}: the run has no tasks of {env}")
    found = ledger.tasks(wanted)
    return [found[identity] for identity in wanted]


def audited(
    env: str | EnvEntry, given: Mapping[str, Any], known: Mapping[str, Any], bindings: Bindings
) -> tuple[EnvEntry, dict[str, Any]]:
    """The world, ready to be opened, and its settings: those `given` over those of a task
    (`known`).

    How it is started is said by what is given, and by `bindings`; what a task says of that is not
    looked at. Raises `ConfigError`.
    """
    start: Mapping[str, Any] = {}
    if isinstance(env, EnvEntry):
        name, found, said = env.spec.name, env, None
    else:
        name, said = env, bindings.said_of(env)
        found = world(name) if said is None else world(said.world, said.folders)
        start = {} if said is None else said.start
    settings = public(found, {**known, **given})
    validated(found.config, settings, "", private(found), "--set ")
    also = {key: value for key, value in given.items() if key in private(found)}
    if found.start is not None and said is None and not also:
        return bindings.world(name), settings
    return started(name, found, {**start, **also}), settings


def replay(
    ledger: Ledger | Path | str,
    *ids: str,
    environments: Files = (),
    quiet: bool = False,
) -> ReplayTally:
    """Executes trajectories again, those named or all valid ones, and compares every observation.

    What could not be executed is counted by reason; `unbound` says how an environment is bound that
    is not. Raises
    `ConfigError` for an id that names none.
    """
    run = stored(ledger)
    open_env = bindings_for(run, environments).open_env
    return waited(replay_all(run, open_env, ids, progress_for(quiet=quiet)))


def recheck(
    ledger: Ledger | Path | str,
    *,
    environments: Files = (),
    quiet: bool = False,
) -> RecheckTally:
    """Gives new verdicts by today's checks from stored facts; the old ones are kept, exports honour
    the new ones.
    """
    run = stored(ledger)
    open_env = bindings_for(run, environments).open_env
    return waited(recheck_all(run, open_env, progress_for(quiet=quiet)))


Told = Callable[[str], None]


@dataclass(frozen=True)
class VerifyReport:
    """What was read, all of it as committed; `head` (of a run) or `sums` (of a dataset) is to be
    noted down elsewhere, for `expect`.
    """

    read: str
    digest: str
    lines: tuple[str, ...]


def verify(
    run_dir: Path | str, *, expect: str | None = None, told: Told = lambda line: None
) -> VerifyReport:
    """Reads all of a run or of a dataset; `told` is given each file that is damaged, missing or not
    its own, with what to do. Writes nothing.

    Raises `DamagedError` where there is one, and where it is not what `expect` says.
    """
    storage = Storage(str(run_dir))
    if not manifest.listed(storage) and is_dataset(storage):
        return _dataset(storage, expect, told)
    return _run(storage, expect, told)


def _run(storage: Storage, expect: str | None, told: Told) -> VerifyReport:
    verified, found = Verified(), 0
    for problem in problems(storage, verified):
        told(problem)
        found += 1
    for note in verified.notes:
        told(f"note         {note}")
    read = (
        f"{counted_noun(verified.lines, 'manifest line')}, {counted_noun(verified.packs, 'pack')} "
        f"of them, {counted_noun(verified.files, 'shard file')} ({verified.bytes:,} bytes), "
        f"{counted_noun(verified.written, 'other file')} ({verified.written_bytes:,} bytes) read"
    )
    if found:
        raise DamagedError(f"{storage.url}: {read}: {found} damaged, missing or unfinished")
    head = next(reversed(verified.history))
    if expect is not None:
        told(_expected(storage, expect, verified.history))
    return VerifyReport(
        f"{read}: all as they were committed",
        head,
        (
            f"not covered  {LIVE}",
            f"head         {head}: note it down; --expect {head} tells later whether lines were "
            "cut off or rewritten",
        ),
    )


def _expected(storage: Storage, expect: str, history: dict[str, int]) -> str:
    if expect not in history:
        raise DamagedError(
            f"{storage.url}: --expect {expect}: no line of its manifest has this head: "
            "lines were cut off or rewritten since it "
            "was noted, or it is another run's; put the run back from a backup"
        )
    since = max(history.values()) - history[expect]
    return f"expected     the run that was noted{f', gone on by {since:,} lines' if since else ''}"


def _dataset(storage: Storage, expect: str | None, told: Told) -> VerifyReport:
    found = 0
    for problem in folder_problems(storage):
        told(problem)
        found += 1
    if found:
        raise DamagedError(
            f"{storage.url}: {counted_noun(found, 'file')} damaged, missing or not its own; train "
            "on none of it"
        )
    sums = storage.sha256(SUMS)
    if expect not in (None, sums):
        raise DamagedError(
            f"{storage.url}: --expect: its sums are {sums}: not the dataset that was noted, "
            "though whole in itself"
        )
    return VerifyReport(
        f"{counted_noun(len(read_sums(storage)), 'file')} read: all as {SUMS} says",
        sums,
        (
            f"sums         {sums}: note it down where others find it; --expect {sums} tells "
            "whether all of it was rewritten",
        ),
    )
