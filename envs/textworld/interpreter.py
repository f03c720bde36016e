"""The compiled game in its interpreter: commands in, text out, and a trace of what succeeded."""

import re
import zlib
from pathlib import Path
from typing import Any

import jericho
import msgspec
import numpy as np

TRACE = "tw-trace-actions"
WON = "*** The End ***"
_TRACED = re.compile(r"^\[[^\]\n]*\]\n?", re.MULTILINE)
_SUCCEEDED = re.compile(r"^\[([^\]\n(]+) - succeeded\]", re.MULTILINE)
_PROMPT = re.compile(r"\n>[^\n]*\Z")
_EMPTY_LINES = re.compile(r"\n\s*\n")


class GameReply(msgspec.Struct, frozen=True):
    """The game's words, freed of trace and prompt; the actions that succeeded, for instance
    `opening the box`; whether it was won.
    """

    text: str
    succeeded: tuple[str, ...]
    won: bool


class GameMemory(msgspec.Struct, frozen=True):
    """The interpreter's state: memory and stack as differences (compressed) from those at the
    start, registers, last text.
    """

    ram: bytes
    stack: bytes
    registers: tuple[int, ...]
    random: tuple[int, ...]
    narrative: bytes


class Interpreter:
    """One running game. Not for two threads at once.

    It is given nothing but commands made from the game's own names: a NUL would hang it for ever,
    `save` and `script` write files, `quit`
    and `restart` ask a question that swallows the next command.
    """

    def __init__(self, game: Path) -> None:
        self._machine: Any = jericho.FrotzEnv(str(game), seed=1)
        opening, _ = self._machine.reset()
        self.opening = _plain(
            str(opening)[max(0, str(opening).find("-= ")) :]
        )  # without banner and objective
        self._machine.step(TRACE)
        self.opening += f"\n\n{self.give('inventory').text}"
        self._start = self._machine.get_state()

    def give(self, command: str) -> GameReply:
        """The game's reply to one command."""
        said, _, _, _ = self._machine.step(command)
        text, end, _ = said.partition(WON)
        return GameReply(_plain(text), tuple(_SUCCEEDED.findall(said)), bool(end))

    def memory(self) -> GameMemory:
        """The state, to go on from in another interpreter of the same game."""

        ram, stack, pc, sp, fp, frames, opcode, random, narrative = self._machine.get_state()
        registers = (pc, sp, fp, frames, opcode)

        return GameMemory(
            _packed(ram, self._start[0]),
            _packed(stack, self._start[1]),
            registers,
            tuple(int(part) for part in random),
            bytes(narrative),
        )

    def remember(self, memory: GameMemory) -> None:
        """Takes over a state."""
        ram, stack = _unpacked(memory.ram, self._start[0]), _unpacked(memory.stack, self._start[1])
        self._machine.set_state((ram, stack, *memory.registers, memory.random, memory.narrative))


def _plain(said: str) -> str:
    """Text without trace lines, status line and runs of empty lines."""
    return _EMPTY_LINES.sub("\n\n", _TRACED.sub("", _PROMPT.sub("", said))).strip()


def _packed(now: Any, start: Any) -> bytes:
    return zlib.compress(np.bitwise_xor(now, start).tobytes(), 6)


def _unpacked(packed: bytes, start: Any) -> Any:
    return np.bitwise_xor(np.frombuffer(zlib.decompress(packed), dtype=np.uint8), start)
