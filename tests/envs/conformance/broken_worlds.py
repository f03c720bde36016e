"""Echo worlds, each with one fault in how it keeps, tells or judges its state."""

import itertools

import msgspec

from synth.envs.echo import EchoEnv
from synth.schemas.check import CheckResult
from synth.schemas.environment import Response
from synth.schemas.trajectory import Observation, Source

SERIAL = itertools.count()


class NumbersItsInstances(EchoEnv):
    def __init__(self, config):
        super().__init__(config)
        self.serial = next(SERIAL)

    async def step(self, turn):
        response = await super().step(turn)
        first = msgspec.structs.replace(
            response.observations[0], content=f"{response.observations[0].content} #{self.serial}"
        )
        return msgspec.structs.replace(response, observations=(first, *response.observations[1:]))


class KeysByInstance(EchoEnv):
    async def step(self, turn):
        return msgspec.structs.replace(await super().step(turn), state_key=f"{next(SERIAL)}")


class KeepsWhatWasSaid(EchoEnv):
    async def reset(self, task):
        said = self._desk.said
        opening = await super().reset(task)
        self._desk.said = said
        return opening


class ForgetsTheLastWord(EchoEnv):
    async def restore(self, snapshot):
        await super().restore(snapshot)
        del self._desk.said[-1:]


class RestoresOverTheOld(EchoEnv):
    async def restore(self, snapshot):
        said = list(self._desk.said)
        await super().restore(snapshot)
        self._desk.said = said + self._desk.said[len(said) :]


class SnapshotChangesTheWorld(EchoEnv):
    async def snapshot(self):
        self._desk.said.append("snapshot")
        return await super().snapshot()


class FatSnapshot(EchoEnv):
    async def snapshot(self):
        snapshot = await super().snapshot()
        return type(snapshot)(snapshot.env, snapshot.version, snapshot.blob + b" " * 70_000)


class ExpertStopsEarly(EchoEnv):
    async def expert(self, profile=None, seed=0):
        return await super().expert("stops_early", seed)


class ExpertKnowsOneProfile(EchoEnv):
    async def expert(self, profile=None, seed=0):
        if profile not in (None, "correct"):
            raise KeyError(profile)
        return await super().expert(profile, seed)


class ExpertDrawsPerTurn(EchoEnv):
    async def expert(self, profile=None, seed=0):
        return await super().expert(profile, next(SERIAL) if profile == "mixed" else seed)


class ExpertCountsItsCalls(EchoEnv):
    asked = 0

    async def expert(self, profile=None, seed=0):
        self.asked += 1
        turn = await super().expert(profile, seed)
        return msgspec.structs.replace(turn, content=f"call {self.asked}")


class RechecksEverythingAsPassed(EchoEnv):
    async def recheck(self, task, trajectory):
        return msgspec.structs.replace(await super().recheck(task, trajectory), passed=True)


class PassesAlways(EchoEnv):
    async def check(self):
        return CheckResult(True)


class PassesTheUntouched(EchoEnv):
    async def check(self):
        return CheckResult(not self._desk.turns)


class PassesTheWordy(EchoEnv):
    async def step(self, turn):
        self.spoke = getattr(self, "spoke", False) or bool(turn.content)
        return await super().step(turn)

    async def check(self):
        return CheckResult(getattr(self, "spoke", False))


class OffersOnlyWhatSolves(EchoEnv):
    async def affordances(self):
        return (await self.expert(),)


class CheckCounts(EchoEnv):
    asked = 0

    async def check(self):
        self.asked += 1
        return msgspec.structs.replace(await super().check(), version=str(self.asked))


class CheckChangesTheWorld(EchoEnv):
    async def check(self):
        self._desk.said.append("checked")
        return await super().check()


class CheckShowsUpLater(EchoEnv):
    checked = False

    async def check(self):
        self.checked = True
        return await super().check()

    async def reset(self, task):
        self.checked = False
        return await super().reset(task)

    async def step(self, turn):
        response = await super().step(turn)
        return msgspec.structs.replace(response, reward=1.0) if self.checked else response


class CannotCheckWithoutATask(EchoEnv):
    async def check(self):
        assert self._task is not None
        return await super().check()


class PassesWithoutATask(EchoEnv):
    async def check(self):
        return CheckResult(True) if self._task is None else await super().check()


class StrayFact(EchoEnv):
    async def facts(self):
        return {**await super().facts(), "clock/now": 3}


class NestedFact(EchoEnv):
    async def facts(self):
        return {**await super().facts(), "said/9/text": ["a"]}


class VerdictOnOtherFacts(EchoEnv):
    async def check(self):
        return msgspec.structs.replace(await super().check(), facts={"session/0/finished": "yes"})


class ClosesOnce(EchoEnv):
    closed = False

    async def close(self):
        if self.closed:
            raise OSError("already closed")
        self.closed = True


class ClosesOnlyWhatWasReset(EchoEnv):
    async def close(self):
        assert self._task is not None


class TakesWordsByIdentity(EchoEnv):
    def _words(self):
        return super()._words() if isinstance(self._task.script.get("words"), tuple) else ()


class PassesWhoeverDenies(EchoEnv):
    """Every task asks for a refusal; any accepted denial passes."""

    async def reset(self, task):
        self.denied = False
        parameters = {
            "type": "object",
            "properties": {"rule": {"enum": ["R1", "R2"]}},
            "required": ["rule"],
        }
        deny = {"type": "function", "function": {"name": "deny", "parameters": parameters}}
        return msgspec.structs.replace(await super().reset(task), tools=(deny,))

    async def step(self, turn):
        self.denied = self.denied or any(call.name == "deny" for call in turn.tool_calls)
        answers = tuple(
            Observation("Denied.", call_id=call.call_id, name="deny") for call in turn.tool_calls
        )
        return Response(answers or (Observation("?", Source.ENVIRONMENT),))

    async def check(self):
        return CheckResult(self.denied)


class AcceptsNoDenial(PassesWhoeverDenies):
    async def step(self, turn):
        response = await super().step(turn)
        return Response(
            tuple(msgspec.structs.replace(o, error=True) for o in response.observations)
        )

    async def check(self):
        return CheckResult(False)
