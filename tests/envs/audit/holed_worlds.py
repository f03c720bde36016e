"""Echo worlds, each with one hole that an audit must name; `HOLES` says under which question it has
to be found.
"""

import asyncio
import itertools
import time
from functools import partial

import msgspec

from synth.envs.echo import SPEC, EchoConfig, EchoEnv, make_tasks
from synth.envs.world import EnvEntry
from synth.schemas.canonical import content_hash
from synth.schemas.check import SubVerdict
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.trajectory import Observation, ToolCall

SERIAL = itertools.count()
KEPT = []


class SaysItsSerialNumber(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        first = msgspec.structs.replace(
            response.observations[0], content=f"{response.observations[0].content} #{next(SERIAL)}"
        )
        return msgspec.structs.replace(response, observations=(first, *response.observations[1:]))


class SharesItsTurnsWithOthers(EchoEnv):
    turns = 0

    async def reset(self, task):
        SharesItsTurnsWithOthers.turns = 0
        return await super().reset(task)

    async def step(self, turn):
        SharesItsTurnsWithOthers.turns += 1
        response = await super().step(turn)
        return msgspec.structs.replace(response, reward=float(SharesItsTurnsWithOthers.turns))


class ForgetsTheLastWord(EchoEnv):
    async def restore(self, snapshot):
        await super().restore(snapshot)
        del self._desk.said[-1:]


class PassesTheUntouched(EchoEnv):
    async def check(self):
        verdict = await super().check()
        return msgspec.structs.replace(
            verdict, passed=verdict.passed or (self._task is not None and not self._desk.turns)
        )


class IgnoresTheSecondWord(EchoEnv):
    async def check(self):
        said = list(self._desk.said)
        self._desk.said = [*said[:1], *self._words()[1:2], *said[2:]]
        verdict = await super().check()
        self._desk.said = said
        return msgspec.structs.replace(verdict, facts={})


class IgnoresWhatComesAfter(EchoEnv):
    async def check(self):
        said = list(self._desk.said)
        del self._desk.said[len(self._words()) :]
        verdict = await super().check()
        self._desk.said = said
        return msgspec.structs.replace(verdict, facts={})


class WantsOneCallPerTurn(EchoEnv):
    """Its expert says two words in one turn on odd seeds; the check wants each in a turn of its
    own.
    """

    async def expert(self, profile=None, seed=0):
        left = self._words()[len(self._desk.said) :]
        turn = await super().expert(profile, seed)
        if profile not in (None, "correct") or seed % 2 == 0 or len(left) < 2:
            return turn
        more = ToolCall.received(
            f"more_{self._desk.turns}", "echo", msgspec.json.encode({"text": left[1]}).decode()
        )
        return AgentTurn(tool_calls=(*turn.tool_calls, more))

    async def check(self):
        verdict = await super().check()
        return msgspec.structs.replace(
            verdict, passed=verdict.passed and self._desk.turns > len(self._words())
        )


class WantsWordsInOrder(EchoEnv):
    """Its facts are a set of words, its check wants their order."""

    async def facts(self):
        return {f"said/{word}/text": word for word in self._desk.said} | {
            "session/0/finished": self._desk.finished
        }

    async def step(self, turn):
        response = await super().step(turn)
        key = content_hash([sorted(self._desk.said), self._desk.finished])
        return msgspec.structs.replace(response, state_key=key)

    async def check(self):
        verdict = await super().check()
        return msgspec.structs.replace(verdict, facts={})


class WantsWordsInOrderByRule(WantsWordsInOrder):
    """The same, but its verdict says that it is a rule about order."""

    async def check(self):
        verdict = await super().check()
        in_order = SubVerdict("process", self._desk.said == list(self._words()))
        finished = SubVerdict(
            "state", self._desk.finished and set(self._desk.said) == set(self._words())
        )
        return msgspec.structs.replace(
            verdict, passed=in_order.passed and finished.passed, parts=(finished, in_order)
        )


class TiresOfBeingAsked(EchoEnv):
    asked = 0

    async def check(self):
        self.asked += 1
        verdict = await super().check()
        return msgspec.structs.replace(verdict, passed=verdict.passed and self.asked % 4 != 0)


class FailsEveryThirdEpisode(EchoEnv):
    async def reset(self, task):
        self.luck = next(SERIAL) % 3 != 0
        return await super().reset(task)

    async def check(self):
        verdict = await super().check()
        return msgspec.structs.replace(verdict, passed=verdict.passed and self.luck)


class AnswersLate(EchoEnv):
    async def step(self, turn):
        if self._desk.turns == 1 and self._task is not None:
            await asyncio.sleep(0.03)
        return await super().step(turn)


class BlocksUnannounced(EchoEnv):
    async def check(self):
        time.sleep(0.12)  # noqa: ASYNC251 - the fault
        return await super().check()


class HoldsMegabytes(EchoEnv):
    async def reset(self, task):
        self.hoard = bytearray(2 * 2**20)
        return await super().reset(task)


class KeepsItsClosedEpisodes(EchoEnv):
    async def close(self):
        KEPT.append(bytearray(40 * 1024))


class RaisesOnUnknownTools(EchoEnv):
    async def step(self, turn):
        for call in turn.tool_calls:
            {"echo": 1, "finish": 2}[call.name]
        return await super().step(turn)


class ExpertStopsEarly(EchoEnv):
    async def expert(self, profile=None, seed=0):
        return await super().expert(
            "stops_early" if profile in (None, "correct") else profile, seed
        )


class HasFactsOfItsOwn(EchoEnv):
    async def facts(self):
        return {**await super().facts(), "clock/wall/now": 3}


class ShowsTracebacks(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        trace = 'Traceback (most recent call last):\n  File "desk.py", line 7, in call\nKeyError: 3'
        shown = tuple(
            msgspec.structs.replace(o, content=trace) if o.error else o
            for o in response.observations
        )
        return Response(shown, response.state_key, response.reward, response.done)


class SaysOnlyError(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        shown = tuple(
            Observation("Error", o.source, o.call_id, o.name, True) if o.error else o
            for o in response.observations
        )
        return Response(shown, response.state_key, response.reward, response.done)


class ForgetsCallIds(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        nameless = tuple(msgspec.structs.replace(o, call_id=None) for o in response.observations)
        return msgspec.structs.replace(response, observations=nameless)


def opened(env, config):
    return env(EchoConfig.model_validate(dict(config)))


def world(env, spec=SPEC, tasks=make_tasks):
    return EnvEntry(spec, partial(opened, env), tasks, EchoConfig)


def no_tasks(config, seed, count):
    raise KeyError("tasks.json")


NO_RECHECK = msgspec.structs.replace(SPEC, capabilities=SPEC.capabilities - {"recheck"})
HOLES = {
    "nameless_answers": ("protocol", "answers_keep_to_the_protocol", world(ForgetsCallIds)),
    "serial_number": ("determinism", "determinism", world(SaysItsSerialNumber)),
    "shared_turns": ("determinism", "instances_are_apart", world(SharesItsTurnsWithOthers)),
    "bad_snapshot": ("snapshots", "snapshot_equals_replay", world(ForgetsTheLastWord)),
    "nothing_passes": ("bots", "do_nothing_fails", world(PassesTheUntouched)),
    "ignored_write": ("mutants", "mutants_are_killed", world(IgnoresTheSecondWord, NO_RECHECK)),
    "extra_writes": ("mutants", "mutants_are_killed", world(IgnoresWhatComesAfter)),
    "one_call_per_turn": ("alternatives", "other_strategies_pass", world(WantsOneCallPerTurn)),
    "order_of_words": ("alternatives", "reorderings_pass", world(WantsWordsInOrder, NO_RECHECK)),
    "flaky": ("flakiness", "check_asked_again", world(TiresOfBeingAsked)),
    "flaky_episodes": ("flakiness", "episode_done_again", world(FailsEveryThirdEpisode)),
    "slow_step": ("latency", "calls_are_quick", world(AnswersLate)),
    "blocking": ("latency", "calls_are_quick", world(BlocksUnannounced)),
    "memory_hog": ("memory", "memory_is_bounded", world(HoldsMegabytes)),
    "leak": ("memory", "memory_is_bounded", world(KeepsItsClosedEpisodes)),
    "raises": ("errors", "hostile_input", world(RaisesOnUnknownTools)),
    "traceback": ("errors", "errors_say_why", world(ShowsTracebacks)),
    "terse": ("errors", "errors_say_why", world(SaysOnlyError)),
    "expert_fails": ("expert", "expert_solves", world(ExpertStopsEarly)),
    "stray_fact": ("upkeep", "facts_match_patterns", world(HasFactsOfItsOwn)),
    "no_tasks": ("tasks", "make_tasks", world(EchoEnv, tasks=no_tasks)),
}
"""name -> (the question that must fail, the part of it that must, the world)."""

RULE_OF_ORDER = world(WantsWordsInOrderByRule, NO_RECHECK)
globals().update(
    {name.upper(): of for name, (_, _, of) in HOLES.items()}
)  # each by its own name, for the command line
