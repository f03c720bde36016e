"""A language model as a bot: it works on tasks in their terminal, as in a rollout."""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.real_model.served import NAME, served
from benchmarks.repo.bench import SEED, Bench, at_least, at_most, named
from synth.engine.progress import progress_for
from synth.envs.repo.checking import name_of
from synth.ledger.storage.journal import Journal
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.policies.chat import chat_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.schemas import ConfigError, Outcome, Trajectory, Usage

AT_ONCE = 8
"""Episodes: a server answers many calls in little more time than one."""
STEP_S = 600.0
"""A step or a check, however many others wait for a core."""
GUIDED = {"tool_choice": "required"}
"""The server holds each reply to the form of a call; nobody is asked to end in words."""


class ModelBot(NamedTuple):
    """Which model is asked, and how: without a URL it is the small one of `make real-model`.
    `key_env` names the environment variable with a server's key.
    """

    url: str | None = None
    name: str = NAME
    trials: int = 1
    turns: int = 8
    max_tokens: int = 256
    key_env: str | None = None


@contextmanager
def reached(bot: ModelBot) -> Iterator[ModelSettings]:
    """The model, asked as an explorer of `make real-model` is; the small one behind a server that
    ends with the context. Raises `ConfigError` where there is none to ask.
    """
    settings = ModelSettings(
        model=bot.name,
        base_url=bot.url,
        api_key_env=bot.key_env,
        timeout_s=300.0,
        max_in_flight=AT_ONCE,
        temperature=0.8,
        max_tokens=bot.max_tokens,
        seed=SEED,
        extra_body=GUIDED,
    )
    if bot.url is not None:
        yield settings
        return

    python, model = os.environ.get("SYNTH_VLLM_PYTHON"), os.environ.get("SYNTH_SMALL_MODEL")
    if not python or not model:
        raise ConfigError(
            "no model to ask: give --model-url and --model, or set SYNTH_VLLM_PYTHON and "
            "SYNTH_SMALL_MODEL as `make real-model` does"
        )
    with (
        tempfile.NamedTemporaryFile(prefix="synth-model-", suffix=".log") as log,
        served(Path(python), Path(model), Path(log.name)) as own,
    ):
        yield settings.model_copy(update={"base_url": own, "model": NAME})


async def plays(bot: ModelBot, bench: Bench) -> None:
    """How many tasks it solves, and how far it comes in the others."""
    with reached(bot) as settings:
        began = time.monotonic()
        attempts = await _attempts(bench, bot, settings)
        took_s = time.monotonic() - began

    solved = {one.task_id for one in attempts if one.outcome is Outcome.SUCCESS}
    count, n = len(solved), len(bench.tasks)
    print(f"{settings.model}, {bot.turns} turns, trials a task: {bot.trials}")
    print(f"  solved: {at_least(count, n)}; {at_most(count, n)}")
    named("solved", bench, [task.task_id in solved for task in bench.tasks])
    _print_turns(bench, attempts)

    faults = Counter(f"{one.fault}: {one.fault_detail}" for one in attempts if one.fault)
    print(f"  attempts that a fault ended: {at_most(faults.total(), len(attempts))}")
    for why, times in faults.most_common(3):
        print(f"    {times} x {why}")

    used = sum((one.totals for one in attempts), Usage())
    print(
        f"  tokens: {used.prompt_tokens:,} read, {used.cached_tokens:,} of them cached, "
        f"{used.completion_tokens:,} written; {took_s:.0f} s"
    )


def _print_turns(bench: Bench, attempts: Sequence[Trajectory]) -> None:
    """What became of turns and episodes."""
    turns = [turn for one in attempts for turn in one.turns]
    readable = [any(call.parse_error is None for call in turn.tool_calls) for turn in turns]
    answered = [any(not seen.error for seen in turn.observations) for turn in turns]
    print(f"  turns with a readable call: {at_least(sum(readable), len(turns))}")
    print(f"  turns answered by no error: {at_least(sum(answered), len(turns))}")
    called = Counter(call.name for turn in turns for call in turn.tool_calls)
    print(f"  calls: {_counts(called)}")

    ended = [one for one in attempts if one.fault is None]
    changed = [changed_source(bench, one) for one in ended]
    print(f"  episodes that changed a source: {at_least(sum(changed), len(ended))}")
    print(f"  how episodes ended: {_counts(Counter(str(one.termination) for one in ended))}")


def _counts(counted: Counter[str]) -> str:
    """The most frequent first."""
    return ", ".join(f"{name} {times}" for name, times in counted.most_common())


def changed_source(bench: Bench, episode: Trajectory) -> bool:
    """Whether any file that counts is another one at an episode's end."""
    (task,) = [one for one in bench.tasks if one.task_id == episode.task_id]
    place = bench.place(task)
    facts = episode.check_result.facts if episode.check_result is not None else None
    names = (path.split("/") for path in facts or ())
    return any(place.counts(name_of(key)) for kind, key, _ in names if kind == "file")


async def _attempts(bench: Bench, bot: ModelBot, settings: ModelSettings) -> list[Trajectory]:
    """All episodes, those included that a fault ended and that were played again."""
    sampling = msgspec.to_builtins(settings.sampling())
    policy = chat_policy({}, model_name=settings.model, sampling=sampling)
    works = [
        EpisodeSpec(
            slot_id=f"{task.task_id}-{trial}",
            task=task,
            trial=trial,
            seed=SEED,
            synthesizer="rollout",
            policy=policy,
            limits=Limits(max_turns=bot.turns, step_timeout_s=STEP_S),
        )
        for task in bench.tasks
        for trial in range(bot.trials)
    ]
    model, progress = open_model(settings), progress_for()
    progress.start("model", len(works), "episodes")
    with tempfile.TemporaryDirectory(prefix="synth-model-") as folder:
        journal = Journal(Path(folder) / "replies.jsonl")
        try:
            return await run_slots(
                works,
                lambda work: bench.world.open(work.task.env_config),
                model,
                journal,
                {},
                live_episodes=AT_ONCE,
                finished=progress.advance,
            )
        finally:
            progress.stop()
            journal.close(discard=True)
            await model.close()
