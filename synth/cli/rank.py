"""`synth rank`: which teacher, method or policy a student would learn most from."""

import json

import click

from synth.schemas.printable import ascii_json, printable

BY = ("model", "synthesizer", "policy", "role", "source")


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--by", default="model", show_default=True, type=click.Choice(BY), help="What is ranked."
)
@click.option("--student", metavar="MODEL", help="Where several students were measured: which one.")
@click.option("--seed", default=0, show_default=True, help="Of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="The ranking as JSON.")
def rank(run: str, by: str, student: str | None, seed: int, as_json: bool) -> None:
    """Rank sources by the rank-surprisal ratio that the filter rank_surprisal has measured: lower
    suits the student better.

    \b
    Example:  synth rank runs/mine --by synthesizer
    """
    import msgspec

    from synth.cli.lost import say_lost
    from synth.cli.rank_table import lines
    from synth.filters.rank_surprisal.read_scores import scored_rows
    from synth.filters.rank_surprisal.sources import ranking
    from synth.ledger.ledger import Ledger

    ledger = Ledger(run)
    say_lost(ledger)
    who, rows = scored_rows(ledger, by, student)
    found = ranking(rows, seed)
    if as_json:
        click.echo(
            ascii_json(
                json.dumps(
                    {
                        "student": who,
                        "by": by,
                        **msgspec.to_builtins(found),
                        "proxies": found.proxies,
                    },
                    indent=2,
                )
            )
        )
        return
    for line in lines(who, by, found):
        click.echo(printable(line))
