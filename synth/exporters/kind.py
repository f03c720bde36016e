"""What a kind of data set and a form of its rows are made of."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from pydantic import Field

from synth.datasets.release import CHATS, KindRule
from synth.exporters.form import Arguments, Form
from synth.schemas import Release, Task, Trajectory
from synth.text.data_files import read as read_file
from synth.text.transcript.message_texts import Change

if TYPE_CHECKING:
    from synth.exporters.tally import ExportCounts
    from synth.ledger.ledger import StoredLedger

Unroll = Literal["whole", "context", "per_turn", "auto"]
"""One row per trajectory, or it is cut. `auto`: the first of whole, with a context, per turn that
leaves out no trajectory for turns that must carry no loss where the form cannot say so, and whose
prefixes the student's template renders alike.
"""

Reading = Literal["keep", "strip", "drop"]
"""What becomes of what reads badly: it stays, is taken out, or its row is left out."""

ControlTokenPolicy = Literal["drop", "neutralise", "keep"]
"""What becomes of rows whose texts hold control tokens."""


class RowSettings(Release):
    """What goes into a data set, and in which form. `form` left out: the first that the registry
    names for the kind.

    `arguments`: left out, as the form's trainer wants them. `require_tools`: only trajectories with
    tool schemas, whether they call tools or not. `keep_masked`: take in rows with turns that must
    carry no loss, for trainers that read `masked_turns`, where the form cannot say it.
    `past_thoughts`: rows of one turn show the model what it had thought before (policies do not,
    unless `send_thoughts` is set). `join_answers`: what users say right after a tool answered is
    put into that answer, for formats in which speakers alternate strictly. `off_policy`: the pairs
    whose prefix the policy to be trained did not sample, and only these (a data set of their own);
    `both`: these and the others.
    `include_statistical`: step labels that stand on statistics too. `student`: whose chat template
    rows are rendered with (folder or name of a tokenizer, a .jinja file, or `trl:qwen3`).
    `control_tokens`: whether rows in whose texts a tokenizer would read structure are dropped,
    neutralised or kept; left out, as the flow's filter of that name says, and dropped where the
    flow has none. `user_thoughts`: parts of what a user says that are marked as thoughts (their
    simulator's); `tool_endings`: an answer of a tool behind the last turn. `require_prompt`: only
    chats with a system prompt. `infer_tools`: where a source recorded no tool schemas, those that
    calls of its chats show, marked as inferred.
    """

    form: str | None = None
    include_statistical: bool = False
    off_policy: bool | Literal["both"] = False
    require_tools: bool = False
    require_prompt: bool = False
    infer_tools: bool = False
    user_thoughts: Reading = "keep"
    tool_endings: Reading = "keep"
    keep_masked: bool = False
    arguments: Arguments | None = None
    thoughts: bool = True
    past_thoughts: bool = False
    join_answers: bool = False
    unroll: Unroll = "auto"
    student: str | None = None
    control_tokens: ControlTokenPolicy | None = None
    rows_per_shard: int = Field(default=1000, ge=1)


Spelling = Callable[[str], str]
"""From a setting's name, or `name=value`, to what the user writes to switch it on."""


def as_key(setting: str) -> str:
    """For instance: overwrite: true."""
    # a setting without a value is switched on
    name, _, value = setting.partition("=")
    return f"{name}: {value or 'true'}"


def as_flag(setting: str) -> str:
    """For instance: --overwrite."""
    name, _, value = setting.partition("=")
    return f"--{name.replace('_', '-')} {value}".rstrip()


def lineage_of(row: Any) -> Trajectory | Task:
    """What a row of a kind descends from: its trajectory, or its task where it has none."""
    found: Trajectory | Task = getattr(row, "trajectory", None) or row.task
    return found


def identity_of(row: Any) -> str:
    """By which a row is named to people: its trajectory's id, or its task's."""
    lineage = lineage_of(row)
    return lineage.trajectory_id if isinstance(lineage, Trajectory) else lineage.task_id


def card_texts() -> Mapping[str, Any]:
    """What people are told of datasets: data/notes.yaml."""
    return read_file("exporters/data/notes.yaml", dict[str, Any])


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of data set: where its rows come from, and the rule by which they may leave.

    `counts`: what is added up over the rows that were written; `content`: what two rows share that
    are copies of each other. `texts` visits each text that a form writes of a row, and gives the
    row with what the visitor puts there.
    """

    name: str
    texts: Callable[[Any, Form, Change], Any]
    rows: "Callable[[StoredLedger, ExportCounts], Iterator[Any]]"
    counts: "Callable[[Any, ExportCounts], Mapping[str, int]]"
    content: Callable[[Any], object]
    rule: KindRule = CHATS

    @property
    def title(self) -> str:
        """Of the card."""
        return str(card_texts()["kinds"][self.name]["title"])

    @property
    def one_row(self) -> str:
        """What the card says of a row."""
        return str(card_texts()["kinds"][self.name]["one_row"])
