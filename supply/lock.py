"""Writes the lock files of supply/locks: every package of an environment of this project, pinned,
with the hashes of all its files.

`python supply/lock.py UV [WHEELS]`: the program uv, and a folder of wheels that lie beside the
registry (torch's CPU build). Versions are
those of constraints.txt, for every Python and platform; what is new in a resolution is added there.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "supply" / "locks"
EXTRAS = ("test", "score", "embed", "textworld", "tau2", "mcp", "repo", "s3", "ray", "train")
MORE = {
    "build": "hatchling>=1.27 setuptools>=77",
    "ray-test": "moto[server]",
    "sbom": "cyclonedx-bom pip",
    "types": "pyright[nodejs]",
    "hooks": "pre-commit",
}
"""Environments that no extra names: what builds the checkout and the few packages that come as
sources alone, the local S3 server of the Ray tests, what makes the bill of materials and reads
licences (the pip that older Pythons bring tells no licence expressions), pyright, pre-commit.
"""
ALONE = {"sbom", "types", "hooks"}
"""Environments without synth: their locks hold all they need."""
_CUDA = re.compile(r"(?:nvidia-|cuda-|triton$)")
"""What only torch's CUDA build needs, in a lock of its own: no marker tells the two builds apart.
"""


def plain(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def entries(text: str) -> dict[str, str]:
    """The entries of a lock by name, each with its hashes."""
    found: dict[str, str] = {}
    for entry in re.split(r"(?m)^(?=[A-Za-z0-9])", text):
        if entry and not entry.startswith("#"):
            found[plain(re.split(r"[=\[ ;]", entry, maxsplit=1)[0])] = entry
    return found


def resolved(uv: str, wanted: list[str], *, extra: str | None = None) -> dict[str, str]:
    """What an environment holds."""
    options = [
        "--universal",
        "--python-version=3.11",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--no-strip-extras",
        "--no-config",
        "-q",
    ]
    source = ["pyproject.toml"] if not wanted else ["-"]
    options += (
        ["-c", "constraints.txt"]
        + ([f"--extra={extra}"] if extra else [])
        + ["--no-emit-index-url", "--no-emit-find-links"]
    )
    told = subprocess.run(
        [uv, "pip", "compile", *source, *options],
        input="\n".join(wanted),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if told.returncode:
        sys.exit(told.stderr)
    return entries(re.sub(r"(?<=,) (?=[a-z0-9, -]*\])", "", told.stdout))


def with_builds(entry: str, wheels: Path | None) -> str:
    """torch, with the hashes of the builds that lie in a folder beside those of the registry."""
    version = entry.partition("==")[2].split()[0]
    hashes = {line.strip(" \\") for line in entry.splitlines()[1:]}
    for wheel in sorted(wheels.glob(f"torch-{version}+*.whl")) if wheels else ():
        hashes.add(f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}")
    return f"torch=={version} \\\n" + " \\\n".join(f"    {one}" for one in sorted(hashes)) + "\n"


def twice(entry: str) -> str:
    """An entry with extras, and before it the same without: pip pins one where it needs the
    other.
    """
    bare = re.sub(r"\A([^\[=]+)\[[^\]]*\]", r"\1", entry)
    return entry if bare == entry else bare + entry


def main(uv: str, wheels: Path | None) -> None:
    """Writes all of them, and constraints.txt."""
    core = resolved(uv, [])
    locks = {"core": core, "build": resolved(uv, MORE["build"].split())}
    every = {extra: resolved(uv, [], extra=extra) for extra in EXTRAS}
    every |= {
        name: resolved(uv, wanted.split()) for name, wanted in MORE.items() if name != "build"
    }
    cuda: dict[str, str] = {}
    for name, found in every.items():
        own = (
            found
            if name in ALONE
            else {one: entry for one, entry in found.items() if one not in core}
        )
        cuda |= {one: entry for one, entry in own.items() if _CUDA.match(one)}
        locks[name] = {
            one: with_builds(entry, wheels) if one == "torch" else entry
            for one, entry in own.items()
            if not _CUDA.match(one)
        }
    locks["cuda"] = cuda
    LOCKS.mkdir(exist_ok=True)
    for name, found in locks.items():
        (LOCKS / f"{name}.txt").write_text(
            "# made by `make lock`; the hashes are those of every file of a version\n"
            + "".join(twice(found[one]) for one in sorted(found))
        )
    everything = {one: entry.split()[0] for found in locks.values() for one, entry in found.items()}
    given = {
        plain(line.partition("==")[0]): line
        for line in (ROOT / "constraints.txt").read_text().split()
    }
    lines = [given.get(one) or re.sub(r"\[.*\]", "", pin) for one, pin in everything.items()]
    (ROOT / "constraints.txt").write_text("\n".join(sorted(set(lines), key=str.lower)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None)
