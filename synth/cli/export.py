"""`synth export`: a dataset for a trainer, from any ledger, or the proof of one."""

from typing import Any

import click

from synth.schemas.outcome import Outcome
from synth.schemas.printable import printable

_OUTCOMES = click.Choice([outcome.value for outcome in Outcome if outcome is not Outcome.INVALID])
"""A fault is no label: invalid records cannot be asked for."""


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--kind",
    default="sft",
    show_default=True,
    help="Kind of dataset: sft, dpo, kto, prm, rl, attribution, memory.",
)
@click.option(
    "--as",
    "form",
    help="Whose form the rows have: trl, llamafactory, axolotl, verl, openai, atif, sts.  [the "
    "kind's own]",
)
@click.option(
    "--out", metavar="DIR", help="Folder to write, a path or a URL; datasets.load_dataset reads it."
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing that stays: prove the rows on the consumer's own loader, and say what was "
    "not.",
)
@click.option(
    "--student",
    metavar="NAME",
    help="Whose chat template to render with: a tokenizer's folder or name, a .jinja file, "
    "trl:qwen3.",
)
@click.option(
    "--unroll",
    type=click.Choice(["whole", "per_turn", "auto"]),
    default="whole",
    show_default=True,
    help="Rows per trajectory.",
)
@click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    type=_OUTCOMES,
    default=("success",),
    show_default=True,
    help="Repeatable.",
)
@click.option(
    "--honour",
    multiple=True,
    metavar="FILTER",
    help="Filters whose decisions count, `all` for every one.  [the kind's own]",
)
@click.option(
    "--control-tokens",
    type=click.Choice(["drop", "neutralise", "keep"]),
    help="Rows in whose texts a tokenizer would read turns or calls.  [as the flow's filter says, "
    "else drop]",
)
@click.option(
    "--include-scripted",
    is_flag=True,
    help="Rows written by scripts too; said in the card's first line.",
)
@click.option(
    "--include-evidence",
    is_flag=True,
    help="Continuations that were played to test an act too (critical steps, injections).",
)
@click.option(
    "--include-weak", is_flag=True, help="Labels that no test confirmed too (column label_status)."
)
@click.option(
    "--allow-benchmark",
    is_flag=True,
    help="Attempts at public benchmarks too; said in the card's first line.",
)
@click.option(
    "--allow-held-out",
    is_flag=True,
    help="Attempts at tasks of a held-out split too; said in the card's first line.",
)
@click.option(
    "--require-tools",
    is_flag=True,
    help="Only rows with tool schemas, whether they call tools or not.",
)
@click.option(
    "--keep-masked",
    is_flag=True,
    help="Rows with turns that must carry no loss too (column masked_turns).",
)
@click.option(
    "--include-statistical",
    is_flag=True,
    help="Step labels that stand on statistics too (tier E3).",
)
@click.option(
    "--off-policy",
    is_flag=True,
    help="Pairs whose prefix the policy to be trained did not sample, and only these.",
)
@click.option(
    "--join-answers",
    is_flag=True,
    help="Put what users say after a tool answered into that answer (strict alternation).",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace a dataset that synth wrote to this folder, and a card that was edited since.",
)
def export(
    run: str,
    kind: str,
    form: str | None,
    out: str | None,
    check: bool,
    outcomes: tuple[str, ...],
    honour: tuple[str, ...],
    overwrite: bool,
    **chosen: Any,
) -> None:
    """Write a dataset; the decisions that filters took are honoured, and what is left out is
    counted.

    \b
    Example:  synth export runs/quickstart --kind sft --as trl --out data/sft --include-scripted
              synth export runs/quickstart --kind sft --as axolotl --check --student Qwen/Qwen3-0.6B
    """
    from pydantic import ValidationError

    from synth.api.opened import stored
    from synth.cli.lost import open_run
    from synth.exporters.registry import require
    from synth.exporters.settings import RowSettings
    from synth.schemas.errors import ConfigError

    require(kind, form, "--kind", "--as")
    if (out is None) != check:
        raise ConfigError(
            "synth export writes to --out DIR, or proves without writing with --check: give one "
            "of them"
        )
    try:
        settings = RowSettings(
            form=form, outcomes=tuple(map(Outcome, outcomes)), honour=honour or None, **chosen
        )
    except ValidationError as error:
        raise ConfigError(
            f"--unroll {chosen['unroll']}: {error.errors()[0]['msg'].removeprefix('Value error, ')}"
        ) from error
    ledger = stored(open_run(run))
    if out is None:
        _prove(ledger, kind, settings)
    else:
        _write(ledger, kind, out, settings, overwrite=overwrite)


def _write(ledger: Any, kind: str, out: str, settings: Any, *, overwrite: bool) -> None:
    from synth.api.datasets import write_dataset
    from synth.engine.unfinished import unfinished_line
    from synth.exporters.spelling import as_flag
    from synth.schemas.errors import SynthError

    unfinished = unfinished_line(ledger, "exported")
    console = _console()

    def announce(report: Any) -> None:
        _print_funnel(console, report, kind, out)
        for note in (
            report.notes
            if report.empty is None
            else report.notes[:1]
            if unfinished is not None
            else ()
        ):
            console.print(printable(note), markup=False, soft_wrap=True)

    report = write_dataset(
        ledger, kind, out, settings, overwrite=overwrite, say=as_flag, announce=announce
    )
    if report.empty is not None:
        raise SynthError(f"{kind}: no rows, so {out} was not written: {report.empty}")
    console.print(printable(f"{kind}  {out}"), markup=False, soft_wrap=True)


def _prove(ledger: Any, kind: str, settings: Any) -> None:
    from synth.api.datasets import prove_dataset
    from synth.exporters.spelling import as_flag
    from synth.schemas.errors import SynthError

    proof = prove_dataset(ledger, kind, settings, say=as_flag)
    console = _console()
    _print_funnel(console, proof.report, kind, "")
    for line in (*proof.report.notes, *proof.lines()):
        console.print(printable(line), markup=False, soft_wrap=True)
    if proof.report.empty is not None:
        raise SynthError(f"{kind}: no rows to prove anything of: {proof.report.empty}")
    if proof.failed:
        raise SynthError(f"{kind}: {len(proof.failed)} of the checks failed; nothing was written")


def _console() -> Any:
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def _print_funnel(console: Any, report: Any, kind: str, out: str) -> None:
    from synth.engine.funnel import funnel_table
    from synth.flows.stages.export import summary

    said_below = {"empty": None}  # as the error, in one line
    console.print(
        funnel_table(
            {
                "export": {
                    "kind": "export",
                    "datasets": {kind: {**summary(report, kind, out), **said_below}},
                }
            }
        )
    )
