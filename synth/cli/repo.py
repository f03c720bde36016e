"""`synth repo`: pools of tasks out of repositories."""

import time
from pathlib import Path
from shlex import quote
from typing import Any

import click

from synth.cli.options import command, console, own_name, tell


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def repo() -> None:
    """Make tasks out of repositories: bugs that their tests notice.

    \b
    Example:  synth repo make pools/mine --library boltons --tasks 40
              synth repo show pools/mine
    """


@command
def repo_make(pool: Path, dry_run: bool, quiet: bool, **chosen: Any) -> None:
    """Break repositories so that tests fail, and keep what makes a sound task, in the folder POOL.

    Interrupted, the same command goes on where it stopped.

    \b
    Example:  synth repo make pools/mine --tasks 300
              synth repo make pools/mine --library boltons --tasks 40
              synth repo make pools/mine --folder ./mylib --dry-run
    """
    from synth import plan_repo, prepare_repo

    if dry_run:
        for line in plan_repo(pool, **chosen):
            tell(line)
        tell("dry run: nothing was written")
        return
    began = time.monotonic()
    made = prepare_repo(pool, **chosen, quiet=quiet)
    for reason, count in made.reasons.items():
        tell(f"{count:>6,} {reason}")
    took = time.monotonic() - began
    each = f", {took / made.kept:.1f} s each" if made.kept else ""
    tell(f"{made.kept:>6,} tasks of {made.tried:,} bugs tried{each}")
    if made.kept < chosen["tasks"]:
        tell(f"no more can be made of these: {chosen['tasks']:,} were wanted")
    tell(f"look     {own_name()} repo show {quote(str(pool))}")


@command
def repo_grade(pool: Path, **chosen: Any) -> None:
    """Let bots without a model try the tasks of POOL: what they mend is of tier 0, and few of it
    stay. Tasks are taken out that code with the expected values by heart would pass, or code that
    forges results, and those whose tests take patches that are nearly right.

    \b
    Example:  synth repo grade pools/mine
              synth repo grade pools/mine --most-trivial 1
    """
    from synth import grade_repo

    found = grade_repo(pool, **chosen)
    for tier, count in sorted(found.tiers.items()):
        tell(f"{count:>6,} of tier {tier}")
    for reason, count in found.dropped.items():
        tell(f"{count:>6,} taken out: {reason}")


@command
def repo_show(pool: Path) -> None:
    """What a pool holds, by library, kind and tier.

    \b
    Example:  synth repo show pools/mine
    """
    from synth import repo_tables

    out = console()
    for table in repo_tables(pool):
        out.print(table.grid())


repo.add_command(repo_make, "make")
repo.add_command(repo_grade, "grade")
repo.add_command(repo_show, "show")
