"""What works on this machine, and on a model's server; and vLLM's environment, for engine
`vllm_local`.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from synth.api.waiting import waited
from synth.confinement import how_branches_are_made, how_trees_are_counted, missing
from synth.ledger.storage.journal import state_folder
from synth.models.local.vllm_environment import install, installed
from synth.models.probing.endpoint import Finding
from synth.models.probing.examined import Examined, examine

CORE = "aiohttp click datasets duckdb fastapi fsspec msgspec openai prefect pyarrow pydantic rich"
NAMED = ("prefect", "fastapi", "duckdb", "pyarrow", "datasets", "openai")
"""Those whose versions people ask for."""
EXTRAS = {
    "s3": "s3fs",
    "train": "trl",
    "score": "torch",
    "embed": "sentence_transformers",
    "textworld": "textworld",
    "tau2": "deepdiff",
    "ray": "ray",
    "mcp": "mcp",
    "repo": "pytest",
}
"""Extra of pyproject.toml -> a package that shows that it is there."""
Problem = str | None


def probe_server(
    url: str,
    *,
    model: str | None = None,
    api_key_env: str | None = None,
    timeout_s: float = 60.0,
    told: Callable[[str, Finding], None] = lambda name, finding: None,
) -> Examined:
    """Asks a chat server what it can do, with about 20 short calls of at most `timeout_s` each;
    `told` is given each finding as it comes.

    `model`: as the server knows it, the first that it lists without it. Raises `ConfigError`.
    """
    return waited(examine(url, model, api_key_env, timeout_s, told))


def check_machine() -> Mapping[str, tuple[Problem, str]]:
    """By part of this machine: what is broken, and what is there."""
    here, state = Path.cwd(), state_folder()
    unwritable = _cannot_write(state)
    journals = unwritable and f"{unwritable}; set SYNTH_STATE_DIR to a folder on a local disk"
    versions = ", ".join(f"{name} {version(name)}" for name in NAMED if _installed(name))
    return {
        "packages": (_missing(), versions),
        "prefect": (_prefect_cannot_start(), "flows run with --prefect too"),
        "runs": (_cannot_write(here), f"below {here}, {_free(here)}"),
        "journals": (journals, f"{state}, {_free(state)}"),
        "worlds": (None, _worlds()),
        "vllm": (None, _vllm()),
    }


def installed_extras() -> Mapping[str, bool]:
    """The extras of the package, and whether each is installed."""
    return {extra: find_spec(module) is not None for extra, module in EXTRAS.items()}


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _missing() -> Problem:
    absent = [name for name in CORE.split() if not _installed(name)]
    return f"{', '.join(absent)} missing: pip install -c constraints.txt -e ." if absent else None


def _prefect_cannot_start() -> Problem:
    """FastAPI 0.155 and later stop flows of Prefect 3.8."""
    if not (_installed("prefect") and _installed("fastapi")):
        return "not installed"
    found = version("fastapi")
    major, minor = (int("".join(filter(str.isdigit, part)) or 0) for part in found.split(".")[:2])
    if (major, minor) < (0, 155):
        return None
    return f"FastAPI {found} stops every Prefect 3.8 flow: pip install 'fastapi==0.154.0'"


def _worlds() -> str:
    """How the processes of worlds are confined, or why they cannot be."""
    problem = missing()
    if problem is not None:
        return f"cannot run processes confined: {problem}"

    return (
        f"processes confined by bubblewrap, limited by {how_trees_are_counted()}; branches of a "
        f"folder: {how_branches_are_made()}"
    )


def _vllm() -> str:
    """Which vLLM `engine: vllm_local` starts where a flow names no interpreter."""
    python = installed()
    if python is None:
        return "none for engine vllm_local: `synth vllm install` makes it"
    return f"engine vllm_local starts {python}"


def _nearest(folder: Path) -> Path:
    return next(part for part in (folder, *folder.parents) if part.is_dir())


def _cannot_write(folder: Path) -> Problem:
    """Why no file can be created and hard-linked where a folder is or would be: what every commit
    does.
    """
    try:
        with tempfile.TemporaryDirectory(dir=_nearest(folder), prefix=".synth-doctor-") as inside:
            file = Path(inside, "a")
            file.write_bytes(b"a")
            Path(inside, "b").hardlink_to(file)
    except OSError as error:
        return f"{folder} cannot be written: {error.strerror}"
    return None


def _free(folder: Path) -> str:
    return f"{shutil.disk_usage(_nearest(folder)).free / 2**30:.1f} GiB free"


def install_vllm(
    build: str | None = None, *, say: Callable[[str], None] = lambda line: None
) -> Path:
    """Makes an environment that holds vLLM, and gives its interpreter: `build` is `cpu` or `cuda`,
    what this machine has where it is left out. It is done once; `engine: vllm_local` finds it.

    Raises `ConfigError` for another build, `SynthError` where pip fails.
    """
    return install(build, say=say)


def installed_vllm() -> Path | None:
    """The interpreter of that environment, None where it was not made."""
    return installed()
