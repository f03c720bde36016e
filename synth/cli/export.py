"""`synth export`: a dataset for a trainer, from any ledger, or the proof of one."""

from typing import TYPE_CHECKING, Any

from synth.cli.options import command, console, open_run, tell
from synth.schemas import ConfigError, SynthError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from synth import RowSettings, Table


@command
def export(
    run: str,
    kind: str,
    out: str | None,
    check: bool,
    overwrite: bool,
    **chosen: Any,
) -> None:
    """Write a dataset; the decisions that filters took are honoured, and what is left out is
    counted.

    \b
    Example:  synth export runs/quickstart --kind sft --as trl --out data/sft --include-scripted
              synth export runs/quickstart --kind sft --as axolotl --check --student Qwen/Qwen3-0.6B
    """
    from synth import check_export as proved
    from synth import export as written

    if (out is None) != check:
        raise ConfigError(
            "synth export writes to --out DIR, or proves without writing with --check: give one "
            "of them"
        )
    settings = _settings(**chosen)
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


def _settings(outcomes: tuple[str, ...], honour: tuple[str, ...], **chosen: Any) -> "RowSettings":
    """What else is taken in. Raises `ConfigError`."""
    from pydantic import ValidationError

    from synth import Outcome, RowSettings

    try:
        return RowSettings(outcomes=tuple(map(Outcome, outcomes)), honour=honour or None, **chosen)
    except ValidationError as error:
        raise ConfigError(
            f"--unroll {chosen['unroll']}: {error.errors()[0]['msg'].removeprefix('Value error, ')}"
        ) from error
