"""`synth doctor`: what works on this machine, and how to get the rest."""

import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import click

EXTRAS = {
    "score": ("torch", "student-fit filters"),
    "embed": ("sentence_transformers", "semantic merging and duplicates"),
    "textworld": ("textworld", "the TextWorld environment"),
    "s3": ("s3fs", "run directories on S3"),
    "ray": ("ray", "many machines"),
    "train": ("trl", "trainer tests"),
}


@click.command()
def doctor() -> None:
    """Say what works here; exit 1 where something essential does not.

    \b
    Example:  synth doctor
    """
    from synth.ledger.journal import state_folder

    healthy = True
    click.echo(f"python     {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    for name in ("prefect", "fastapi", "datasets", "duckdb", "pyarrow", "openai"):
        try:
            click.echo(f"{name:<10} {version(name)}")
        except PackageNotFoundError:
            healthy = False
            click.echo(f"{name:<10} missing: pip install -c constraints.txt -e .")
    if not _prefect_can_start():
        healthy = False
        click.echo("           this FastAPI stops every Prefect 3.8 flow: pip install 'fastapi==0.154.0'")
    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free / 2**30
        click.echo(f"journals   {folder} ({free:.1f} GiB free)")
    except OSError as error:
        healthy = False
        click.echo(f"journals   {folder}: {error.strerror}; set SYNTH_STATE_DIR to a folder on a local disk")
    for extra, (module, purpose) in EXTRAS.items():
        state = "installed" if find_spec(module) is not None else f"not installed: pip install -c constraints.txt -e '.[{extra}]'"
        click.echo(f"extra      {extra:<10} {purpose}: {state}")
    click.echo(
        "keys       " + (", ".join(n for n in ("OPENAI_API_KEY", "HF_TOKEN") if os.environ.get(n)) or "none set (OPENAI_API_KEY, HF_TOKEN)")
    )
    if not healthy:
        raise SystemExit(1)


def _prefect_can_start() -> bool:
    """Whether FastAPI is one with which Prefect 3.8 flows start (0.155 and later stop them)."""
    try:
        major, minor, *_ = version("fastapi").split(".")
    except PackageNotFoundError:
        return True
    return (int(major), int(minor)) < (0, 155)
