"""Memory data sets: long-context questions compiled from verified traces (ACC, arXiv
2605.21850).
"""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from synth.datasets.release import COMPILED_TRACES, Lineage
from synth.exporters.kind import Kind
from synth.exporters.sft import chat_counts, chat_texts
from synth.exporters.sft_rows import SftRow
from synth.exporters.tally import ExportCounts
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import Ledger
from synth.ledger.redactions import with_redacted_tasks
from synth.loss_turns import mask_reason
from synth.schemas.model import Message
from synth.schemas.task import Task
from synth.schemas.trajectory import Source, Trajectory
from synth.text.leaks.literals import literals
from synth.text.provenance.seen import stands


def memory_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[SftRow]:
    """A row for every verified trace whose answer stands on what its tools gave; the actions are
    left out.
    """

    def verified() -> Iterator[Trajectory]:
        for trajectory, verdicts in with_decisions(ledger, tally.aside):
            if not tally.leaves(tally.refusal(Lineage(trajectory), verdicts)):
                yield trajectory

    for trajectory, task in with_redacted_tasks(ledger, verified(), tally.aside):
        made = partial(compiled, trajectory, task, thoughts=tally.settings.thoughts)
        found = tally.aside.tried(trajectory.trajectory_id, made)
        if isinstance(found, SftRow):
            yield found
        else:
            tally.leaves(found)


def compiled(trajectory: Trajectory, task: Task | None, *, thoughts: bool = True) -> SftRow | str:
    """Question and tool outputs -> answer, or why not: `no_question`, `no_answer`, `no_outputs`,
    `unsupported_answer`, `masked_answer`.
    """
    question = _question(trajectory, task)
    if not question:
        return "no_question"
    last = trajectory.turns[-1] if trajectory.turns else None
    if last is None or not last.content or last.tool_calls:
        return "no_answer"
    if mask_reason(last, len(trajectory.turns) - 1, trajectory.pivot_turn) is not None:
        return "masked_answer"
    outputs = _outputs(trajectory)
    if not outputs:
        return "no_outputs"
    if not supported(last.content, question, outputs):
        return "unsupported_answer"
    context = "\n\n".join(f"[{number}] {output}" for number, output in enumerate(outputs, start=1))
    answer: Message = {"role": "assistant", "content": last.content}
    if thoughts and last.thought is not None:
        answer["reasoning_content"] = last.thought
    shell = msgspec.structs.replace(trajectory, tools=(), turns=())
    extra = {"context": context, "question": question, "answer": last.content}
    return SftRow(
        [{"role": "user", "content": f"{context}\n\n{question}"}, answer],
        shell,
        (0,),
        {},
        extra=extra,
    )


def supported(answer: str, question: str, outputs: Sequence[str]) -> bool:
    """Whether all that an answer names stands in the outputs or the question, and something of it
    in the outputs alone.

    What it names are identifiers, numbers, names, paths and quotations (`literals`); an answer that
    names nothing must stand there itself.
    """
    seen, asked = "\n".join(outputs).casefold(), question.casefold()
    named = {name.casefold() for name in literals(answer)} or {
        answer.strip().rstrip(".").casefold()
    }
    in_outputs = {name for name in named if _stands(seen, name)}
    in_question = {name for name in named if _stands(asked, name)}
    return named == in_outputs | in_question and bool(in_outputs - in_question)


def _stands(folded: str, name: str) -> bool:
    return stands(folded, name, number=name.replace(".", "").replace(",", "").isdigit())


def _question(trajectory: Trajectory, task: Task | None) -> str:
    if task is not None and task.goal:
        return task.goal
    return "\n\n".join(
        observation.content
        for observation in trajectory.opening
        if observation.source is Source.USER
    )


def _outputs(trajectory: Trajectory) -> list[str]:
    """What tools and the world gave before the answer, errors aside, each text once."""
    given = [
        o
        for turn in trajectory.turns[:-1]
        for o in turn.observations
        if o.source is not Source.USER and not o.error and o.content
    ]
    return list(dict.fromkeys(observation.content for observation in given))


MEMORY = Kind(
    name="memory",
    title="Long-context questions compiled from verified traces",
    one_row="One row is one verified trace without its actions: `context` is what its tools gave, in "
    "order, `question` what was asked, "
    "`answer` what the agent answered. All that an answer names stands in the context or the "
    "question.",
    rows=memory_rows,
    rule=COMPILED_TRACES,
    texts=chat_texts,
    counts=chat_counts,
    content=lambda row: row.messages,
)
