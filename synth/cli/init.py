"""`synth init`: a flow file to start from."""

import shlex
from pathlib import Path

from synth.cli.options import command, console, own_name, tell
from synth.schemas import ConfigError, printable

ON_A_RUN = {"curate": "curate RUN"}
"""Templates that are no flows of their own, and the command that takes them."""


@command
def init(template: str | None, out: Path | None) -> None:
    """Write a flow file with comments to start from; without a name, list what there is.

    Nothing is overwritten.

    \b
    Example:  synth init
              synth init vllm
              synth init full --out mine.yaml
    """
    from synth import list_templates, write_template

    if template is not None:
        written = write_template(template, out)
        for path in written:
            tell(f"wrote {path}")
        flow, how = shlex.quote(str(written[0])), ON_A_RUN.get(template, "run")
        tell(f"next: {own_name()} {how} {flow} --dry-run   # checks every setting, makes nothing")
    elif out is not None:
        raise ConfigError("--out: name a template too")
    else:
        found = list_templates()
        wide = max(map(len, found))
        for name, line in found.items():
            console().print(printable(f"{name:<{wide}}  {line}"), markup=False, soft_wrap=True)
