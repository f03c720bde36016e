"""Random commands on a tree, and the comparison of trees restored after any of them with trees that
the same commands make anew.
"""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from random import Random

from synth.confinement import Branch, ProcessLimits, branch_of

LIMITS = ProcessLimits()
NAMES = ("a", "b", "c d", "-e", "ü", "l\nm", "d1", "d2", "d1/a", "d1/x", "d2/d1", "d2/d1/a")
SHOWN = (
    "LC_ALL=C; find . -printf '%P|%y|%m|%s|%n|%T@|%l\\0' | sort -z | tr '\\0' '\\n';"
    "find . -type f -print0 | sort -z | xargs -0r sha256sum"
)
"""All that can be seen of a tree: kinds, modes, sizes, links, times, contents."""
STEPS = 20


def command(random: Random) -> str:
    """A line of shell; half of such fail on most trees, and may leave half of their work done."""
    one, other = (f"./{shlex.quote(random.choice(NAMES))}" for _ in range(2))
    word = random.randrange(10**6)
    return random.choice(
        (
            f"echo {word} > {one}",
            f"echo {word} >> {one}",
            f"head -c {word % 100_000} /dev/zero > {one}",
            f"rm -f {one}",
            f"rm -r {one}",
            f"mv {one} {other}",
            f"mv -T {one} {other}",
            f"mkdir -p {one}",
            f"mkdir {one}; echo {word} > {one}/x",
            f"rm -rf {one}; mkdir {one}",
            f"rm -rf {one}; echo {word} > {one}",
            f"chmod {random.choice(('600', '755', 'u+x', '444', '000', '700'))} {one}",
            f"ln -s {random.choice((other, '/etc/passwd', '../..', 'a'))} {one}",
            f"ln {one} {other}",
            f"cp -r {one} {other}",
            "mkfifo p || rm p",  # under a name of its own: who writes to a pipe waits for a reader
            f"printf '\\377' > \"$(printf 'n\\377%s' {word % 3})\"",
        )
    )


def make_start(place: Path) -> None:
    """A small tree with what the commands name."""
    (place / "d1" / "x").mkdir(parents=True)
    (place / "d2" / "d1").mkdir(parents=True)
    for name in ("a", "b", "d1/a", "d1/x/deep", "d2/d1/a", "d2/b"):
        (place / name).write_text(f"{name}\n")
    (place / "d2" / "link").symlink_to("b")


async def shown(branch: Branch) -> bytes:
    """All that can be seen of the tree, by the keeper's own view where we may look at it, else by
    a command.
    """
    if os.geteuid() == 0:
        return await asyncio.to_thread(_looked_at, branch.seen_from_outside)

    return (await branch.run(["/bin/sh", "-c", SHOWN], output_bytes=1 << 24)).output


def _looked_at(tree: Path) -> bytes:
    lines = list[str]()
    for place in sorted([tree, *tree.rglob("*")]):
        state = place.lstat()
        told = [oct(state.st_mode), state.st_size, state.st_nlink, state.st_mtime_ns, state.st_uid]
        if place.is_symlink():
            told.append(place.readlink())
        elif place.is_file():
            told.append(sha256(place.read_bytes()).hexdigest())
        lines.append(f"{place.relative_to(tree)!r} {told}")

    return "\n".join(lines).encode()


async def compared(base: Path, script: Sequence[str], random: Random) -> list[str]:
    """Each prefix of a script whose restored tree is not the replayed one, with both."""
    async with branch_of(base, limits=LIMITS) as branch, branch_of(base, limits=LIMITS) as other:
        points = []
        for line in script:
            await branch.run(["/bin/sh", "-c", line])
            points.append(await branch.freeze())

        wanted = []
        for line in script:
            await other.run(["/bin/sh", "-c", line])
            wanted.append(await shown(other))

        different = []
        for number in random.sample(range(len(script)), len(script)):
            await branch.thaw(points[number])
            found = await shown(branch)
            if found != wanted[number]:
                both = (found, wanted[number])
                lines = [set(each.decode("utf-8", "replace").splitlines()) for each in both]
                told = sorted(lines[0] ^ lines[1])
                different.append("\n".join([repr(script[: number + 1]), *told]))

        return different


async def agreeing(prefixes: int, seed: int = 0) -> tuple[int, int, list[str]]:
    """(how many are equal, of how many, what differs), two scripts at a time."""
    different = list[str]()
    scripts = [
        [command(Random(f"{seed}-{number}-{step}")) for step in range(min(STEPS, prefixes))]
        for number in range(-(-prefixes // STEPS))
    ]

    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        await asyncio.to_thread(make_start, base)
        for first in range(0, len(scripts), 2):
            for found in await asyncio.gather(
                *(compared(base, script, Random(first)) for script in scripts[first : first + 2])
            ):
                different += found

    tried = sum(map(len, scripts))
    return tried - len(different), tried, different
