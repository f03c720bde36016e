"""Echo worlds, each with one fault in how it answers what it does not expect."""

import asyncio
import time

import msgspec

from synth.envs.echo import EchoEnv
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.trajectory import Observation, Source


class RaisesAfterTheEnd(EchoEnv):
    async def step(self, turn):
        assert not self._desk.finished
        return await super().step(turn)


class OpensAgainAfterTheEnd(EchoEnv):
    async def step(self, turn):
        self._desk.finished = False
        return await super().step(turn)


class SaysNoErrorAfterTheEnd(EchoEnv):
    async def step(self, turn):
        ids = [call.call_id for call in turn.tool_calls] or [None]
        bye = tuple(Observation("Bye.", call_id=call_id) for call_id in ids)
        return Response(bye, done=True) if self._desk.finished else await super().step(turn)


class AnswersNoCallAfterTheEnd(EchoEnv):
    async def step(self, turn):
        over = Response((Observation("It is over.", error=True),), done=True)
        return over if self._desk.finished else await super().step(turn)


class RaisesOnUnknownTools(EchoEnv):
    async def step(self, turn):
        for call in turn.tool_calls:
            {"echo": 1, "finish": 2}[call.name]
        return await super().step(turn)


class RaisesOnArgumentsThatAreNoJson(EchoEnv):
    async def step(self, turn):
        for call in turn.tool_calls:
            call.parsed()
        return await super().step(turn)


class RaisesOnWrongTypes(EchoEnv):
    async def step(self, turn):
        for call in turn.tool_calls:
            if call.parse_error is None and "text" in call.parsed():
                call.parsed()["text"].upper()
        return await super().step(turn)


class RaisesOnNul(EchoEnv):
    async def step(self, turn):
        if "\\u0000" in str([call.arguments for call in turn.tool_calls]):
            raise ValueError("embedded null byte")
        return await super().step(turn)


class WaitsForEverOnAnEmptyTurn(EchoEnv):
    async def step(self, turn):
        if turn == AgentTurn():
            await asyncio.Event().wait()
        return await super().step(turn)


class BlocksOnAnEmptyTurn(EchoEnv):
    async def step(self, turn):
        if turn == AgentTurn():
            while True:
                time.sleep(0.02)  # noqa: ASYNC251 - the fault
        return await super().step(turn)


class SilentOnAnEmptyTurn(EchoEnv):
    async def step(self, turn):
        return Response(()) if turn == AgentTurn() else await super().step(turn)


class FlattersUnknownTools(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        return msgspec.structs.replace(
            response,
            observations=tuple(
                msgspec.structs.replace(o, error=False) for o in response.observations
            ),
        )


class EndsOnAnError(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        if any(o.error for o in response.observations):
            self._desk.finished = True
        return msgspec.structs.replace(response, done=self._desk.finished)


class LosesTheEpisodeAfterAnError(EchoEnv):
    lost = False

    async def reset(self, task):
        self.lost = False
        return await super().reset(task)

    async def step(self, turn):
        response = await super().step(turn)
        if self.lost:
            return Response((Observation("Internal error.", error=True),))
        self.lost = any(o.error for o in response.observations)
        return response


class RepeatsLoneSurrogates(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        return Response((Observation(turn.content, Source.USER),)) if turn.content else response


class AnswersTheFirstCallOnly(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        return msgspec.structs.replace(response, observations=response.observations[:1])


class RepeatsTheEnormous(EchoEnv):
    async def step(self, turn):
        response = await super().step(turn)
        names = "".join(call.name for call in turn.tool_calls)
        first = msgspec.structs.replace(
            response.observations[0],
            content=f"{response.observations[0].content} {names}".replace("\udfff", ""),
        )
        return msgspec.structs.replace(response, observations=(first, *response.observations[1:]))
