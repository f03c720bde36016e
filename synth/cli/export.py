"""`synth export`: a dataset for a trainer, from any ledger."""

from pathlib import Path

import click


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--kind", default="sft", show_default=True, help="Kind of dataset.")
@click.option("--as", "form", default="trl", show_default=True, help="Whose form the rows have.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write; datasets.load_dataset reads it.")
@click.option("--outcome", "outcomes", multiple=True, default=("success",), show_default=True, help="Outcomes that go in (repeatable).")
@click.option("--include-scripted", is_flag=True, help="Rows written by scripts too; said in the card's first line.")
@click.option("--allow-benchmark", is_flag=True, help="Attempts at public benchmarks too; said in the card's first line.")
@click.option("--require-tools", is_flag=True, help="Leave out rows whose source did not record the tool schemas.")
@click.option("--keep-masked", is_flag=True, help="Rows with turns that must carry no loss too (column masked_turns).")
@click.option("--overwrite", is_flag=True, help="Replace a dataset that synth wrote to this folder before.")
def export(
    run: str,
    kind: str,
    form: str,
    out: Path,
    outcomes: tuple[str, ...],
    include_scripted: bool,
    allow_benchmark: bool,
    require_tools: bool,
    keep_masked: bool,
    overwrite: bool,
) -> None:
    """Write a dataset; every decision that the filters took is honoured, and what is left out is counted.

    \b
    Example:  synth export runs/quickstart --kind sft --as trl --out data/sft --include-scripted
    """
    from pydantic import ValidationError
    from rich.console import Console

    from schemas.errors import ConfigError
    from synth.exporters.registry import EXPORTERS
    from synth.exporters.sft import export_sft
    from synth.exporters.sft_rows import SftSettings
    from synth.ledger.ledger import Ledger
    from synth.run.decided import decided
    from synth.run.export_stage import summary
    from synth.run.funnel import funnel_table

    if kind not in EXPORTERS:
        raise ConfigError(f"--kind {kind}: not a kind of dataset; known: {', '.join(sorted(EXPORTERS))}")
    try:
        settings = SftSettings(
            form=form,
            outcomes=outcomes,  # type: ignore[arg-type]
            include_scripted=include_scripted,
            allow_benchmark=allow_benchmark,
            require_tools=require_tools,
            keep_masked=keep_masked,
            overwrite=overwrite,
        )
    except ValidationError as error:
        raise ConfigError("--outcome " + error.errors()[0]["msg"]) from error
    ledger = Ledger(run)
    report = export_sft(decided(ledger), out, settings)
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=160)
    console.print(funnel_table({"export": {"kind": "export", "datasets": {kind: summary(report, str(out))}}}))
    for note in report.notes:
        console.print(note, markup=False, soft_wrap=True)
    console.print(f"{kind}  {out}", markup=False, soft_wrap=True)
