"""What a library's functions answer to literal arguments: taken from the calls of its own tests,
mixed among themselves, and answered by the pristine tree.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from random import Random

import msgspec

from synth.envs.repo.making.runs import listened, pristine_branch
from synth.envs.repo.pool import Library, tools_of

TIME_S = 300.0
MOST_OF_ONE = 16
"""Calls that are asked about one function; half of them stood in no test."""
_ASKED = ".synth-calls.json"


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call, and what it gives: a literal (`listed`: of an iterator), or an error."""

    path: str
    function: str
    module: str
    call: str
    answer: str = ""
    error: str = ""
    listed: bool = False


_Given = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
"""Positional and named arguments, as literals."""


async def record(library: Library, pool: Path) -> None:
    """Runs a library's tests once, every call noted, asks its functions, and writes what they
    answer into the pool; of Python alone.
    """
    if library.engine != "python":
        return
    asked = _mixed(await _given(library, pool), Random(library.digest))
    answers = await _answers(library, pool, asked)
    found = tuple(
        msgspec.structs.replace(call, answer=one[0], error=one[1], listed=one[2])
        for call, one in zip(asked, answers, strict=True)
        if one is not None
    )
    place = calls_file(pool, library.name)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(msgspec.json.encode(found))


def read_calls(pool: Path, library: str) -> tuple[RecordedCall, ...]:
    """What was recorded; nothing where nothing was."""
    place = calls_file(pool, library)
    if not place.exists():
        return ()
    return msgspec.json.decode(place.read_bytes(), type=tuple[RecordedCall, ...])


def calls_file(pool: Path, library: str) -> Path:
    """Where it is kept."""
    return pool / "calls" / f"{library}.json"


async def _given(library: Library, pool: Path) -> Mapping[tuple[str, str], list[_Given]]:
    """The arguments of each function of the sources in the tests' run."""
    said, _ = await listened(pool, library, "synth_calls", TIME_S)
    found: dict[tuple[str, str], list[_Given]] = {}
    kind = list[tuple[str, str, tuple[str, ...], dict[str, str]]]
    try:
        heard = msgspec.json.decode(said, type=kind)
    except msgspec.DecodeError:
        heard = []
    for path, name, positional, named in heard:
        if path in library.source and not name.startswith("_"):
            found.setdefault((path, name), []).append((positional, tuple(named.items())))
    return found


def _mixed(given: Mapping[tuple[str, str], list[_Given]], random: Random) -> list[RecordedCall]:
    """Calls as they came, and as many with arguments of several of them."""
    found = []
    for (path, name), calls in given.items():
        module = module_of(path)
        random.shuffle(calls)
        kept = calls[: MOST_OF_ONE // 2]
        new = [_crossed(random, *random.sample(calls, 2)) for _ in kept if len(calls) > 1]
        for positional, named in dict.fromkeys([*new, *kept]):
            words = ", ".join([*positional, *(f"{key}={value}" for key, value in named)])
            call = f"{module}.{name}({words})"
            found.append(RecordedCall(path=path, function=name, module=module, call=call))
    return found


def _crossed(random: Random, one: _Given, other: _Given) -> _Given:
    """Each argument from one of two calls."""
    positional = [random.choice(pair) for pair in zip(one[0], other[0], strict=False)]
    rest = one[0][len(positional) :]
    named = tuple(
        (key, random.choice([value, dict(other[1]).get(key, value)])) for key, value in one[1]
    )
    return (*positional, *rest), named


async def _answers(
    library: Library, pool: Path, asked: Sequence[RecordedCall]
) -> Iterable[tuple[str, str, bool] | None]:
    """What the pristine tree answers."""
    tools = tools_of(pool).absolute()
    async with pristine_branch(pool, library) as branch:
        lines = [(one.module, one.call) for one in asked]
        await branch.write(_ASKED, msgspec.json.encode(lines))
        command = [f"{tools}/bin/python", f"{tools}/lib/synth_answers.py", _ASKED]
        ran = await branch.run(command, time_s=TIME_S, result=True)
    try:
        return msgspec.json.decode(ran.result, type=list[tuple[str, str, bool] | None])
    except msgspec.DecodeError:
        return [None] * len(asked)


def module_of(path: str) -> str:
    """The name that a file of the sources is imported by."""
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
