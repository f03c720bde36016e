"""Plays the chains of one shard, attempt by attempt: reflects on the last attempt, then plays
again; chains that the ledger has, whatever flow made them, are continued.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from synth.engine.study.shard import ASKED_AT_ONCE, ShardContext, Unfit, UnitResult
from synth.engine.study.stage_context import StageContext
from synth.ledger.ledger import Score, StoredLedger
from synth.ledger.typed import Read, read
from synth.rollout.episode import EpisodeSpec
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import BranchPoint
from synth.schemas import RetryLabel, content_hash
from synth.stats.pdi import CarriedMemo
from synth.synthesizers.reflection.chain_rows import CHAIN, REFLECTION, ChainEnd
from synth.synthesizers.reflection.reflection import Reflect, Reflected, Reflection
from synth.synthesizers.reflection.retry_chain import Retry, RetryChain
from synth.synthesizers.reflection.token_cost import Tokens
from synth.text.transcript.log import first_own_turn

StoredReflections = Mapping[tuple[str, int], Read[RetryLabel]]
"""The reflections of chains, by key and number of the attempt."""


class StoredChains(msgspec.Struct, frozen=True):
    """The chains of the ledger: those that are `settled`, by base trial, and the `retries` of these
    and of unfinished ones.
    """

    settled: Mapping[str, Read[ChainEnd]]
    retries: Sequence[str]


def stored_chains(
    stage: StageContext, keys: Collection[str], attempts: int, measured: Mapping[str, Any]
) -> StoredChains:
    """Finds the chains among these keys that are settled for so many attempts and were measured so;
    chains of the stage's own key come first.

    A chain that ended only because no more attempts were allowed is not settled for more of them,
    nor one that had more for fewer.
    """

    found: dict[str, Read[ChainEnd]] = {}
    ledger = stage.run.ledger

    for row in read(ledger, ChainEnd, (CHAIN,), having=("key", list(keys)), every=True):
        end = row.about
        enough = end.made == attempts if end.exhausted else end.made <= attempts
        first = end.chain not in found or row.stage_key == stage.stage_key

        if end.settled and enough and end.measured == measured and first:
            found[end.chain] = row

    ended = [row.about for row in found.values()]
    going = set(keys) - {end.key for end in ended}
    retries = [identity for end in ended for identity in end.retries]
    retries += [
        label.about.retry
        for (_, number), label in recorded(ledger, going).items()
        if number <= attempts and label.about.retry is not None
    ]

    return StoredChains(found, sorted(retries))


def recorded(ledger: StoredLedger, keys: Collection[str]) -> StoredReflections:
    """The reflections that the ledger has of these chains."""
    found: dict[tuple[str, int], Read[RetryLabel]] = {}
    for row in read(ledger, RetryLabel, (REFLECTION,), having=("key", list(keys)), every=True):
        label = row.about
        known = found.get((label.key, label.attempt))
        if label.reflection is not None and (known is None or known.about.retry is None):
            found[label.key, label.attempt] = row
    return found


def rows_of(ledger: StoredLedger, row: Read[ChainEnd], metrics: Sequence[str]) -> list[Score]:
    """Copies the rows of a chain from the stage key that has settled it."""
    having = ("key", [row.about.key])
    found = read(ledger, dict[str, Any], metrics, stage_key=row.stage_key, having=having)
    return [Score(one.subject_id, one.metric, one.value, one.turn, one.about) for one in found]


async def begun_chains(
    shard: ShardContext, keys: Mapping[str, str], unfit: Unfit, memory: CarriedMemo | None
) -> list[RetryChain]:
    """Begins the chains of base trials, given with their keys; those of trials that cannot be
    replayed have ended.
    """

    trials, tasks = shard.trials_with_tasks(keys)
    misfits = await shard.misfits(trials, unfit)
    shard.run.progress.step(len(misfits))
    # a fault that may pass leaves the chain to a rerun
    passing = {f"fault:{fault}": fault for fault in RETRIED_BY_A_RERUN}
    chains = []

    for base, key in keys.items():
        trial = trials[base]
        chain = RetryChain(key, trial, tasks.get(trial.task_id), trial.gold_informed, memory)
        chain.reason = misfits.get(base, "")
        chain.fault = passing.get(chain.reason)
        chains.append(chain)

    return chains


def retry_spec(
    shard: ShardContext,
    chain: RetryChain,
    start: BranchPoint | None,
    guidance: str | None,
    *,
    trial: int,
    draw: int,
    synthesizer: str | None = None,
) -> EpisodeSpec:
    """An episode on the chain's task; its slot names everything that determines it, and `draw`
    gives it randomness of its own.
    """

    if chain.task is None:
        raise ValueError(f"chain {chain.key}: no episode without its task")

    informed = chain.gold_informed and guidance is not None
    digest = None if guidance is None else content_hash(guidance)
    also = {"guidance": digest, "gold_informed": informed, "draw": draw}
    player = replace(shard.player, synthesizer=synthesizer or shard.player.synthesizer)

    return player.episode(
        shard.run,
        chain.task,
        trial,
        also,
        start,
        draw=draw,
        guidance=guidance,
        gold_informed=informed,
    )


async def play_through(
    shard: ShardContext, chains: Sequence[RetryChain], reflect: Reflect, attempts: int
) -> None:
    """Reflects and retries until each chain has an end or a ceiling is reached; reuses what the
    ledger has of them.
    """

    known = recorded(shard.run.ledger, [chain.key for chain in chains])

    for number in range(1, attempts + 1):
        going = [chain for chain in chains if not chain.reason]
        if not going or not shard.run.may_start():
            return

        planned = list[tuple[RetryChain, Retry, EpisodeSpec]]()

        for chain, retry in await _reflected(shard, going, reflect, number, known):
            start = BranchPoint(retry.of, retry.pivot or 0)
            trial = chain.base.trial
            spec = retry_spec(shard, chain, start, retry.guidance, trial=trial, draw=number)
            planned.append((chain, retry, spec))

        found = await shard.episodes.attempted([spec for *_, spec in planned], shard.player)

        for chain, retry, spec in planned:
            # leak scans of long attempts must not stop the event loop
            await asyncio.sleep(0)
            if spec.slot_id in found:
                retry.known = found[spec.slot_id].known
                chain.played(found[spec.slot_id].made, more=number < attempts)


async def _reflected(
    shard: ShardContext,
    chains: Sequence[RetryChain],
    reflect: Reflect,
    number: int,
    known: StoredReflections,
) -> list[tuple[RetryChain, Retry]]:
    """Reflects on the last attempts of the chains; the retries that follow, in the order of the
    chains.
    """

    found: dict[str, Retry] = {}

    async def look(chain: RetryChain, result: UnitResult) -> None:
        held = known.get((chain.key, number))
        if first_own_turn(chain.last) is None:
            told = Reflected(reason="no_own_turn")
        elif held is not None and held.subject_id == chain.last.trajectory_id:
            said = msgspec.convert(held.about.reflection, Reflection)
            told = Reflected(said, spent=msgspec.convert(held.about.tokens, Tokens))
        else:
            told = await reflect(shard, chain.last, chain.lessons)

        retry = chain.reflected(told)
        await asyncio.sleep(0)

        if retry is not None:
            found[chain.key] = retry
        elif chain.reason:
            shard.run.progress.step(1)

    items = {chain.base.trajectory_id: chain for chain in chains}
    await shard.each(items, look, at_once=ASKED_AT_ONCE)

    return [(chain, found[chain.key]) for chain in chains if chain.key in found]
