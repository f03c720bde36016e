"""Whether an environment is sound: determinism, bots that must fail, mutants, flaky checks, and
more.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from synth.api.bound import Files, bindings_for
from synth.api.opened import Ledger, stored
from synth.api.waiting import waited
from synth.engine.progress import progress_for
from synth.envs.audit.audit import audit as asked
from synth.envs.audit.questions import QUESTIONS, AuditQuestion
from synth.envs.audit.report import AuditAnswer as AuditAnswer
from synth.envs.audit.report import AuditLimits, Report
from synth.envs.registry import ENVS
from synth.envs.world import EnvEntry
from synth.flows.audited import audited
from synth.flows.bindings import Bindings
from synth.flows.environments import bindings_of, said_by_files
from synth.flows.flow_file import read_settings
from synth.flows.own_flow import Settings
from synth.flows.parts import world
from synth.keys import refuse_literals
from synth.ledger import StoredLedger
from synth.schemas import ConfigError, EnvSpec, Task

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
