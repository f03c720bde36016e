"""The forms that TRL reads.

Messages and tools are lists of `Json()`: typed structs would fill the keys that a message or its
arguments lack with null, and TRL trains on these. Arguments are objects, as TRL documents them. Its
`assistant_only_loss` trains on every assistant message, so `trained_turns` and `masked_turns` say
which ones (counted from 0 among the assistant messages) should carry loss.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec

from synth.exporters.forms.columns import (
    Column,
    as_text,
    exact_json,
    holds_exactly,
    messages,
    taken,
)
from synth.exporters.kind import Chat, Comparison, Form, NotRepresentableError, Steps
from synth.exporters.sft_rows import SftRow

LINEAGE = taken(
    "string",
    "trajectory",
    *("trajectory_id", "task_id", "slot_id", "parent_id", "synthesizer", "policy", "model"),
    *("authorship", "outcome", "benchmark", "split"),
)
GOLD_INFORMED = taken("bool", "trajectory", "gold_informed")
TRAINED = Column("trained_turns", ["int32"], lambda row: list(row.trained))
MASKED = Column(
    "masked_turns",
    [{"turn": "int32", "reason": "string"}],
    lambda row: [{"turn": turn, "reason": reason} for turn, reason in row.masked.items()],
)
_TOKENS = {"prompt_token_ids": "int32", "completion_token_ids": "int32", "logprobs": "float64"}


def _tools(of: Callable[[Any], Any], name: str = "tools") -> Column:
    def exact(row: Any) -> list[str | None]:
        texts = [exact_json(tool) for tool in of(row)]
        if None in texts:
            raise NotRepresentableError("inexact_tool_schemas")
        return texts

    return Column(name, ["json"], exact)


TOOLS = _tools(lambda row: row.trajectory.tools)


def _whole_tokens(name: str, row: SftRow) -> list[list[Any]] | None:
    """As sampled, one list per trained turn, where the ledger has them all."""
    turns = row.trajectory.turns
    found = [getattr(turns[turn], name) for turn in row.trained] if turns else []
    return [list(one) for one in found] if all(found) else None


def _turn_tokens(name: str, row: SftRow) -> list[Any] | None:
    (turn,) = row.trained
    found = getattr(row.trajectory.turns[turn], name)
    return None if found is None else list(found)


def _compiled(name: str, row: SftRow) -> Any:
    return row.extra[name]


_LINEAGE = (
    *LINEAGE,
    *taken("float64", "trajectory", "reward"),
    *GOLD_INFORMED,
    TRAINED,
    MASKED,
)
_CHAT = (messages("messages", lambda row: row.messages), TOOLS)
_ALL_TOKENS = tuple(
    Column(name, [[kind]], partial(_whole_tokens, name)) for name, kind in _TOKENS.items()
)
_TURN = (
    messages("prompt", lambda row: row.messages[:-1]),
    messages("completion", lambda row: row.messages[-1:]),
    TOOLS,
    Column("turn", "int32", lambda row: row.turn),
    *_LINEAGE,
    *(Column(name, [kind], partial(_turn_tokens, name)) for name, kind in _TOKENS.items()),
)
_COMPILED = tuple(
    Column(name, "string", partial(_compiled, name)) for name in ("context", "question", "answer")
)
_PROMPT = messages("prompt", attrgetter("prompt"))
_PAIR = (
    _PROMPT,
    messages("chosen", lambda row: row.answers[:1]),
    messages("rejected", lambda row: row.answers[1:]),
    TOOLS,
    *taken("string", "label", "family"),
    *taken("string", "label.prefix", "trajectory_id"),
    Column("chosen_id", "string", lambda row: row.label.chosen.trajectory_id),
    Column("rejected_id", "string", lambda row: row.label.rejected.trajectory_id),
    *taken("string", "label.evidence", "method"),
    *taken("string", "label", "pair_id", "prefix_policy", "chosen_policy", "rejected_policy"),
    *taken("string", "label", "on_policy_for", "task_id", "template", "off_policy_reason"),
    *taken("string", "label", "benchmark", "split", "chosen_authorship", "rejected_authorship"),
    *taken("int64", "label.prefix", "turn"),
    *taken("int64", "label.evidence", "n_pos", "n_neg"),
    *taken("int64", "label", "world_seed"),
    *taken("float64", "label.evidence", "q_pos", "q_neg"),
    *taken("bool", "label", "off_policy", "gold_informed"),
)
_LABELLED = (
    _PROMPT,
    messages("completion", attrgetter("answers")),
    TOOLS,
    Column("label", "bool", lambda row: row.label.desirable),
    *taken("string", "label", "trajectory_id", "authorship", "stratum", "matched_by", "method"),
    *taken("string", "label", "source", "policy", "on_policy_for", "task_id", "template"),
    *taken("string", "label", "benchmark", "split"),
    *taken("int64", "label", "turn", "n"),
    *taken("float64", "label", "q", "task_rate"),
    *taken("bool", "label", "gold_informed"),
)


def _step_label(row: Any) -> list[bool]:
    """Trainers read a missing label as a bad step."""
    if row.label.label is None:
        raise NotRepresentableError("undecided_step")
    return [row.label.label]


_STEP = (
    Column("prompt", "string", lambda row: row.texts[0]),
    Column("completions", ["string"], lambda row: row.texts[1:]),
    Column("labels", ["bool"], _step_label),
    *taken("string", "label", "trajectory_id", "tier", "authorship", "source", "method", "rule"),
    *taken("string", "label", "on_policy_for", "policy", "task_id", "benchmark", "split"),
    *taken("int64", "label", "turn", "n", "successes"),
    *taken("float64", "label", "q", "value"),
    *taken("bool", "label", "gold_informed"),
    messages("prompt_messages", attrgetter("prompt")),
    messages("step_messages", attrgetter("answers")),
    TOOLS,
)
_TASK = (
    _PROMPT,
    _tools(lambda row: row.tools, "tool_schemas"),
    Column("environment", "string", lambda row: row.task.env),
    *taken("string", "task", "task_id", "goal", "split", "benchmark", "parent", "origin"),
    *as_text("task", "env_config", "check", "difficulty"),
    *as_text("", "task"),
    *taken("int64", "task", "seed"),
    *taken("int64", "standing", "trials", "successes"),
    *taken("bool", "standing", "solvable"),
)


def _whole_chat(row: Mapping[str, Any]) -> Chat:
    """TRL puts loss on every assistant message, so the trained ones must be all."""
    return Chat(row["messages"], row["tools"], tuple(row["trained_turns"]))


def _turn_chat(row: Mapping[str, Any]) -> Chat:
    """Loss on the completion."""
    before = sum(message["role"] == "assistant" for message in row["prompt"])
    return Chat([*row["prompt"], *row["completion"]], row["tools"], (before,))


def steps(row: Mapping[str, Any]) -> Steps:
    """As the loop of the page on training and TRL's PRM trainer before 1.16 read it: a line break
    after each step.
    """
    return Steps(
        prompt=row["prompt"],
        steps=tuple(row["completions"]),
        labels=tuple(row["labels"]),
        separator="\n",
        messages=row["prompt_messages"],
        step_messages=row["step_messages"],
        tools=row["tools"],
    )


_INSTALL = """```
pip install "trl>=1.16" "datasets>=4.7"
```
"""
_ASSISTANT_ONLY = (
    "        assistant_only_loss=True,  # without it, what tools and users said is trained on too\n"
)
_CHATS = (
    _INSTALL
    + """```python
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

SFTTrainer(
    model="Qwen/Qwen3-0.6B",
    train_dataset=load_dataset("FOLDER", split="train"),
    args=SFTConfig(
        output_dir="sft",
"""
    + _ASSISTANT_ONLY
    + """        max_length=None,  # the default, 1024 tokens, cuts long trajectories without a word
        per_device_train_batch_size=1,
    ),
).train()
```
"""
)
_TEMPLATES = """
`assistant_only_loss` needs a chat template that marks what the assistant generates. TRL 1.16 brings templates that do, and that write
tool calls, for Qwen 2.5 and 3, gpt-oss, GLM 4, DeepSeek V3, LFM 2 (v2) and Nemotron 3. **Those for Llama 3, Phi 3, DeepSeek R1, Cohere,
LFM 2 and Qwen 2.5 VL leave tool calls out without a word**; Gemma's refuses them. Older `datasets` cannot read `messages` and `tools`.
"""
_TURNS = """Loss is on `completion` alone, one assistant message; leave `assistant_only_loss` out:

""" + _CHATS.replace(_ASSISTANT_ONLY, "        completion_only_loss=True,\n")
_PREFERENCES = (
    _INSTALL
    + """```python
from datasets import load_dataset
from trl import METHODConfig, METHODTrainer

METHODTrainer(
    model="Qwen/Qwen3-0.6B",
    train_dataset=load_dataset("FOLDER", split="train"),
    args=METHODConfig(output_dir="METHOD_DIR", max_length=None),
).train()
```
"""
)
_STEPS = """Columns as in TRL's PRM format (`prompt`, `completions`, `labels`), which Axolotl's `stepwise_supervised` reads too; TRL 1.16
has no trainer for it any more. Load it with `datasets.load_dataset("FOLDER", split="train")`.
"""
_TASKS = """```python
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from synth.flows.environments import open_env  # a world that a flow of yours starts: bound_envs("flow.yaml") of the same module
from synth.rl.trl import environment_factories

tasks = load_dataset("FOLDER", split="train")
GRPOTrainer(
    model="Qwen/Qwen3-0.6B",
    train_dataset=tasks,
    environment_factory=environment_factories(tasks, open_env),
    args=GRPOConfig(output_dir="grpo", max_completion_length=4096),
).train()
```

A row names its environment and never says what starts it. `open_env` opens those that need no start; for others (an MCP server, a world
of your own) say so yourself: `open_env = bound_envs("flow.yaml")`, from the same module, with a flow or a file of its `env` block.

The reward is the world's own check. Other trainers: `synth.rl.environment.RlEnvironment`; verifiers: `synth.rl.verifiers_taskset`.
Show an agent `prompt` and `tool_schemas` only: `task`, `check` and `env_config` hold what it must not know.
"""


def _form(columns: tuple[Column, ...], guide: str, **more: Any) -> Form:
    return Form(
        name="trl", columns=columns, guide=guide, arguments="dict", holds=holds_exactly, **more
    )


def _preferences(columns: tuple[Column, ...], method: str, sides: tuple[str, ...]) -> Form:
    """Each side is one message after a prompt that is always given."""

    def comparison(row: Mapping[str, Any]) -> Comparison:
        messages = (message for side in sides for message in row[side])
        return Comparison(row["prompt"], tuple(messages), row["tools"])

    guide = _PREFERENCES.replace("METHOD_DIR", method.lower()).replace("METHOD", method)
    return _form(columns, guide, comparison=comparison)


SFT = _form(
    (*_CHAT, *_LINEAGE, *_ALL_TOKENS),
    _CHATS + _TEMPLATES,
    per_turn=_form(_TURN, _TURNS + "\n", masks=True, chat=_turn_chat),
    chat=_whole_chat,
)
MEMORY = msgspec.structs.replace(
    SFT, columns=(*_CHAT, *_COMPILED, *_LINEAGE, *_ALL_TOKENS), per_turn=None
)
DPO = _preferences(_PAIR, "DPO", ("chosen", "rejected"))
KTO = _preferences(_LABELLED, "KTO", ("completion",))
PRM = _form(_STEP, _STEPS, steps=steps)
RL = Form(name="trl", columns=_TASK, guide=_TASKS, holds=holds_exactly)
