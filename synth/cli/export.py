"""`synth export`: a dataset for a trainer, from any ledger."""

import click

from schemas.outcome import Outcome
from schemas.printable import printable

_OUTCOMES = click.Choice([outcome.value for outcome in Outcome if outcome is not Outcome.INVALID])
"""A fault is no label: invalid records cannot be asked for."""


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--kind", default="sft", show_default=True, help="Kind of dataset.")
@click.option("--as", "form", default="trl", show_default=True, help="Whose form the rows have.")
@click.option("--out", required=True, metavar="DIR", help="Folder to write, a path or a URL; datasets.load_dataset reads it.")
@click.option("--outcome", "outcomes", multiple=True, type=_OUTCOMES, default=("success",), show_default=True, help="Repeatable.")
@click.option("--include-scripted", is_flag=True, help="Rows written by scripts too; said in the card's first line.")
@click.option("--include-evidence", is_flag=True, help="Continuations that were played to test an act too (critical steps, injections).")
@click.option("--allow-benchmark", is_flag=True, help="Attempts at public benchmarks too; said in the card's first line.")
@click.option("--allow-held-out", is_flag=True, help="Attempts at tasks of a held-out split too; said in the card's first line.")
@click.option("--require-tools", is_flag=True, help="Only rows with tool schemas, whether they call tools or not.")
@click.option("--keep-masked", is_flag=True, help="Rows with turns that must carry no loss too (column masked_turns).")
@click.option("--overwrite", is_flag=True, help="Replace a dataset that synth wrote to this folder, and a card that was edited since.")
def export(
    run: str,
    kind: str,
    form: str,
    out: str,
    outcomes: tuple[str, ...],
    include_scripted: bool,
    include_evidence: bool,
    allow_benchmark: bool,
    allow_held_out: bool,
    require_tools: bool,
    keep_masked: bool,
    overwrite: bool,
) -> None:
    """Write a dataset; every decision that the filters took is honoured, and what is left out is counted.

    \b
    Example:  synth export runs/quickstart --kind sft --as trl --out data/sft --include-scripted
    """
    from rich.console import Console

    from schemas.errors import ConfigError, SynthError
    from synth.cli.lost import say_lost
    from synth.exporters.dataset_folder import DatasetFolder
    from synth.exporters.registry import EXPORTERS, SFT_FORMS, exporter
    from synth.exporters.sft_rows import SftSettings
    from synth.exporters.spelling import as_flag
    from synth.ledger.ledger import Ledger
    from synth.run.decided import decided
    from synth.run.export_stage import summary
    from synth.run.funnel import funnel_table

    if kind not in EXPORTERS:
        raise ConfigError(f"--kind {kind}: not a kind of dataset; known: {', '.join(sorted(EXPORTERS))}")
    if form not in SFT_FORMS:
        raise ConfigError(f"--as {form}: not a form of {kind}; known: {', '.join(sorted(SFT_FORMS))}")
    settings = SftSettings(
        form=form,
        outcomes=tuple(Outcome(outcome) for outcome in outcomes),
        include_scripted=include_scripted,
        include_evidence=include_evidence,
        allow_benchmark=allow_benchmark,
        allow_held_out=allow_held_out,
        require_tools=require_tools,
        keep_masked=keep_masked,
    )
    ledger = Ledger(run)
    say_lost(ledger)
    folder = DatasetFolder(out, replace="edited" if overwrite else "nothing", say=as_flag)
    report = exporter(kind)(decided(ledger), folder, settings, as_flag)
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=160)
    console.print(funnel_table({"export": {"kind": "export", "datasets": {kind: summary(report, kind, out)}}}))
    if report.empty is not None:
        raise SynthError(f"{kind}: no rows, so {out} was not written: {report.empty}")
    for note in report.notes:
        console.print(printable(note), markup=False, soft_wrap=True)
    console.print(f"{kind}  {out}", markup=False, soft_wrap=True)
