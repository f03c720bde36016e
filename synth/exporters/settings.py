"""What goes into a data set, and in which form: the settings that all kinds share."""

from typing import Literal

from pydantic import Field, model_validator

from synth.schemas.release import Release

Arguments = Literal["json", "dict"]
"""Tool-call arguments as the JSON text that was received, or as an object."""
Unroll = Literal["whole", "per_turn", "auto"]
"""One row per trajectory, one per trained turn, or the former only where the student's template
renders prefixes alike.
"""

ControlTokenPolicy = Literal["drop", "neutralise", "keep"]
"""What becomes of rows whose texts hold control tokens."""


class RowSettings(Release):
    """What goes into a data set, and in which form. `form` left out: the first that the registry
    names for the kind.

    `arguments`: left out, as the form's trainer wants them. `require_tools`: only trajectories with
    tool schemas, whether they call tools
    or not. `keep_masked`: take in rows with turns that must carry no loss, for trainers that read
    `masked_turns`, where the form cannot
    say it. `past_thoughts`: rows of one turn show the model what it had thought before (policies do
    not, unless `send_thoughts` is set).
    `join_answers`: what users say right after a tool answered is put into that answer, for formats
    in which speakers alternate strictly.
    `off_policy`: the pairs whose prefix the policy to be trained did not sample, and only these (a
    data set of their own).
    `include_statistical`: step labels that stand on statistics too. `student`: whose chat template
    rows are rendered with (folder or
    name of a tokenizer, a .jinja file, or `trl:qwen3`). `control_tokens`: whether rows in whose
    texts a tokenizer would read structure
    are dropped, neutralised or kept; left out, as the flow's filter of that name says, and dropped
    where the flow has none.
    """

    form: str | None = None
    include_statistical: bool = False
    off_policy: bool = False
    require_tools: bool = False
    keep_masked: bool = False
    arguments: Arguments | None = None
    thoughts: bool = True
    past_thoughts: bool = False
    join_answers: bool = False
    unroll: Unroll = "whole"
    student: str | None = None
    control_tokens: ControlTokenPolicy | None = None
    rows_per_shard: int = Field(default=1000, ge=1)

    @model_validator(mode="after")
    def _knows_the_template(self) -> "RowSettings":
        if self.unroll == "auto" and self.student is None:
            raise ValueError(
                "unroll: auto compares renderings, so it needs a student (a tokenizer's folder or "
                "name, or a .jinja file)"
            )
        return self
