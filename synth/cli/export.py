"""`synth export`: a dataset for a trainer, from any ledger, or the proof of one."""

from typing import TYPE_CHECKING, Any

import click

from synth.cli.options import console, flags, open_run, run_argument, tell
from synth.schemas.errors import ConfigError, SynthError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from synth import Table

_OUTCOMES = click.Choice(["success", "failure", "truncated", "unknown"])
"""A fault is no label: invalid records cannot be asked for."""


@click.command()
@run_argument
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
@flags(
    {
        "--check": "Write nothing that stays: prove the rows on the consumer's own loader, and say "
        "what was "
        "not."
    }
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
@flags(
    {
        "--include-scripted": "Rows written by scripts too; said in the card's first line.",
        "--include-evidence": "Continuations that were played to test an act too (critical "
        "steps, injections).",
        "--include-weak": "Labels that no test confirmed too (column label_status).",
        "--allow-benchmark": "Attempts at public benchmarks too; said in the card's first line.",
        "--allow-held-out": "Attempts at tasks of a held-out split too; said in the card's "
        "first line.",
        "--require-tools": "Only rows with tool schemas, whether they call tools or not.",
        "--keep-masked": "Rows with turns that must carry no loss too (column masked_turns).",
        "--include-statistical": "Step labels that stand on statistics too (tier E3).",
        "--off-policy": "Pairs whose prefix the policy to be trained did not sample, and "
        "only these.",
        "--join-answers": "Put what users say after a tool answered into that answer "
        "(strict alternation).",
        "--overwrite": "Replace a dataset that synth wrote to this folder, and a card that "
        "was edited since.",
    }
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

    from synth import Outcome, RowSettings
    from synth import check_export as proved
    from synth import export as written

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
    ledger, out_to = open_run(run), console()

    def told(funnel: "Table", lines: "Sequence[str]") -> None:
        out_to.print(funnel.grid())
        for line in lines:
            tell(line)

    if out is None:
        found = proved(ledger, kind, settings=settings, flags=True, told=told)
        if found.failed:
            raise SynthError(
                f"{kind}: {len(found.failed)} of the checks failed; nothing was written"
            )
    else:
        written(ledger, kind, to=out, settings=settings, overwrite=overwrite, flags=True, told=told)
        tell(f"{kind}  {out}")
