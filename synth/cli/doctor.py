"""`synth doctor`: what works on this machine, and how to get the rest."""

import asyncio
import os
import platform
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import click

CORE = (
    "aiohttp",
    "click",
    "datasets",
    "duckdb",
    "fastapi",
    "fsspec",
    "msgspec",
    "openai",
    "prefect",
    "pyarrow",
    "pydantic",
    "rich",
)
NAMED = ("prefect", "fastapi", "duckdb", "pyarrow", "datasets", "openai")
"""Those whose versions people ask for."""
EXTRAS = {
    "s3": "s3fs",
    "train": "trl",
    "score": "torch",
    "embed": "sentence_transformers",
    "textworld": "textworld",
    "ray": "ray",
    "mcp": "mcp",
}
"""Extra of pyproject.toml -> a package that shows that it is there."""


@click.command()
@click.option(
    "--endpoint",
    metavar="URL",
    help="Ask this chat server what it can do, with about 20 short calls.",
)
@click.option(
    "--model", metavar="NAME", help="As the server knows it; left out: the first that it lists."
)
@click.option(
    "--api-key-env", metavar="VAR", help="The environment variable that holds the server's key."
)
@click.option(
    "--timeout-s",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Of each question.",
)
def doctor(
    endpoint: str | None, model: str | None, api_key_env: str | None, timeout_s: float
) -> None:
    """Say what works here, or on a server; exit 1 where something essential does not.

    \b
    Example:  synth doctor
              synth doctor --endpoint http://127.0.0.1:8000/v1
    """
    if endpoint is not None:
        from synth.cli.doctor_endpoint import examine

        if not asyncio.run(examine(endpoint, model, api_key_env, timeout_s)):
            raise SystemExit(1)
        return
    if model is not None or api_key_env is not None:
        raise click.UsageError("--model and --api-key-env belong to --endpoint URL")
    from synth.cli.own_name import own_name
    from synth.ledger.journal import state_folder

    here, state = Path.cwd(), state_folder()
    journal_problem = _cannot_write(state)
    checks = {
        "packages": (
            _missing(),
            ", ".join(f"{name} {version(name)}" for name in NAMED if _installed(name)),
        ),
        "prefect": (_prefect_cannot_start(), "flows run with --prefect too"),
        "runs": (_cannot_write(here), f"below {here}, {_free(here)}"),
        "journals": (
            journal_problem
            and f"{journal_problem}; set SYNTH_STATE_DIR to a folder on a local disk",
            f"{state}, {_free(state)}",
        ),
    }
    click.echo(
        f"machine    Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores"
    )
    for name, (problem, found) in checks.items():
        click.echo(f"{name:<10} {found if problem is None else f'BROKEN: {problem}'}")
    there = [extra for extra, module in EXTRAS.items() if find_spec(module) is not None]
    absent = [extra for extra in EXTRAS if extra not in there]
    get = (
        f"; not installed: {', '.join(absent)} (pip install -c constraints.txt -e '.[NAME]')"
        if absent
        else ""
    )
    click.echo(f"extras     {', '.join(there) or 'none'}{get}")
    keys = [name for name in ("OPENAI_API_KEY", "HF_TOKEN") if os.environ.get(name)]
    click.echo(
        "keys       "
        f"{', '.join(keys) or 'none set: providers such as OpenAI need one, a server of your own does not'}"
    )
    broken = [name for name, (problem, _) in checks.items() if problem is not None]
    if broken:
        click.echo(f"verdict    mend {', '.join(broken)} first")
        raise SystemExit(1)
    click.echo(f"verdict    all commands work; try: {own_name()} run configs/quickstart.yaml")


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _missing() -> str | None:
    absent = [name for name in CORE if not _installed(name)]
    return f"{', '.join(absent)} missing: pip install -c constraints.txt -e ." if absent else None


def _prefect_cannot_start() -> str | None:
    """FastAPI 0.155 and later stop flows of Prefect 3.8."""
    if not (_installed("prefect") and _installed("fastapi")):
        return "not installed"
    major, minor = (
        int("".join(filter(str.isdigit, part)) or 0) for part in version("fastapi").split(".")[:2]
    )
    if (major, minor) < (0, 155):
        return None
    return (
        f"FastAPI {version('fastapi')} stops every Prefect 3.8 flow: pip install 'fastapi==0.154.0'"
    )


def _nearest(folder: Path) -> Path:
    return next(part for part in (folder, *folder.parents) if part.is_dir())


def _cannot_write(folder: Path) -> str | None:
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
