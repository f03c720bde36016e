"""`synth run`: a flow from start to end, or from where it was interrupted."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.cli.options import command, console, from_here, own_name, tell, warn, write_file
from synth.schemas import ConfigError, between_words, printable

if TYPE_CHECKING:
    from synth import FlowCheck, ProposedFlow, RunResult


@command
def run(runner: str, prefect: bool, dry_run: bool, quiet: bool, **chosen: Any) -> None:
    """Run a flow, or go on with one that was interrupted: what is committed is not done again.

    \b
    Example:  synth run configs/quickstart.yaml --set env.tasks=10
              synth run shop.yaml --run-dir runs/imported --env mcp=shop.yaml
    """
    from synth import check_flow
    from synth import run as carry_out

    if dry_run:
        checked = check_flow(**chosen)
        stages = ", ".join(checked.stages) or "no stages, nothing to do"
        _say_checked(checked, f"into {checked.run_dir}: {stages}", quiet=quiet)
        return
    how: Any = {"prefect": prefect, "ray": runner == "ray", "quiet": quiet}
    carry_out(**chosen, **how, ended=say_result)


@command
def curate(
    flow: Path | None,
    save: Path | None,
    compare: bool,
    prefect: bool,
    dry_run: bool,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Run filters and exports on an import, or on a run: nothing is collected, and what is decided
    is not done again.

    Without FLOW.yaml it looks at what RUN holds (verdicts, trials, tools, worlds, models that --set
    names), proposes a flow, carries it out, and says of each door how many trajectories it keeps
    from becoming rows, and what opens it.

    A flow's world, models and collecting stages are not used. RUN then has these stages in place of
    those it had after its collection;
    decisions under other settings stay in decisions_all.

    A filter that executes again starts an environment as --env, FLOW.yaml or the record of a run
    made here say, never as RUN does.

    \b
    Example:  synth curate runs/mine
              synth curate runs/mine --dry-run --save mine.yaml
              synth curate runs/mine configs/curate.yaml --env mcp=shop.yaml
    """
    from synth import check_flow
    from synth import curate as carry_out

    proposed = _proposed(flow, save, compare=compare, quiet=quiet, chosen=chosen)
    if dry_run:
        checked = check_flow(**chosen, curates=True)
        on = f"on the {checked.trajectories:,} valid trajectories of {chosen['run_dir']}"
        _say_checked(checked, f"{on}: {', '.join(checked.stages)}", quiet=quiet)
    else:
        carry_out(**chosen, prefect=prefect, quiet=quiet, ended=say_result)
    if proposed is not None:
        console().print(proposed.doors().grid())


def _proposed(
    flow: Path | None, save: Path | None, *, compare: bool, quiet: bool, chosen: dict[str, Any]
) -> "ProposedFlow | None":
    """The flow that is proposed where none is given, said and kept; what is carried out is put into
    `chosen`.
    """
    from synth import propose

    if flow is not None:
        _refuse_with_flow({"--save": save is not None, "--compare": compare})
        chosen["flow"] = flow
        return None

    proposed = propose(**chosen, compare=compare)
    chosen |= {"flow": proposed.flow, "set": ()}
    for line in () if quiet else proposed.text.splitlines():
        tell(line)
    if save is not None:
        write_file("--save", save, proposed.text.encode())
    return proposed


@command
def confirm(quiet: bool, **chosen: Any) -> None:
    """Test what imported trials suggest: where a trial that passed did something else than one that
    failed, at the same state, replay that state in its world, play on after both acts, and write
    what the tests accept (dpo, kto, prm).

    Whoever plays on is named with --set; the last lines say what a confirmed act has cost.

    \b
    Example:  synth confirm runs/mine --set models.explorer.policy=expert
              synth confirm runs/mine --env mcp=shop.yaml --set models.explorer.model=my-model
    """
    from synth import confirm as carry_out

    carry_out(**chosen, quiet=quiet, ended=say_result)


def _refuse_with_flow(options: Mapping[str, bool]) -> None:
    """Raises `ConfigError` for an option of the proposed flow where a flow is given."""
    for option, given in options.items():
        if given:
            raise ConfigError(
                f"{option}: is for `synth curate RUN` without FLOW.yaml; a flow says itself which "
                "stages it has"
            )


def _say_checked(checked: "FlowCheck", what: str, *, quiet: bool) -> None:
    for line in () if quiet else checked.warnings:
        warn(line)
    tell(f"{checked.flow}: valid; {what}")
    if checked.calibration is not None:
        tell(f"calibrate: {checked.calibration}")


def say_result(result: "RunResult") -> None:
    """The funnel, where everything lies, and how to look at it, on stdout."""
    out = console()
    if result.reports:
        out.print(result.funnel.grid())
    for stage, said in result.notes:
        line = printable(f"{stage}: {said}")
        out.print(line, markup=False, style="dim", soft_wrap=not out.is_terminal)
    wide = max(8, *(len(label) for label, _ in result.places))
    for label, said in result.places:
        out.print(printable(f"{label:<{wide}} {said}"), markup=False, soft_wrap=True)
    for label, said in result.closing:
        said = _look(result.run_dir, said) if label == "look" else said
        whole = label == "look" or not out.is_terminal  # a command is copied as one line
        line = printable(f"{label:<{wide}} {said}")
        out.print(line if whole else between_words(line, out.width), markup=False, soft_wrap=True)


def _look(run_dir: str, identity: str) -> str:
    """A command, to be run as it stands, that shows a trajectory of a run."""
    where = run_dir if "://" in run_dir else from_here(Path(run_dir))
    return f"{own_name()} show {shlex.quote(where)} {identity}"
