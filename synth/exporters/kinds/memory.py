"""Memory data sets: long-context questions compiled from verified traces (ACC, arXiv
2605.21850).
"""

from collections.abc import Iterable, Iterator
from functools import partial

from msgspec.structs import replace

from synth.datasets.release import COMPILED_TRACES, Lineage
from synth.exporters.kind import Kind
from synth.exporters.kinds.sft import chat_counts, chat_texts
from synth.exporters.kinds.sft_rows import SftRow
from synth.exporters.tally import ExportCounts
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import StoredLedger
from synth.ledger.redactions import with_redacted_tasks
from synth.loss_turns import mask_reason
from synth.schemas import Message, Source, Task, Trajectory, Turn, turn_messages
from synth.text.leaks.literals import literals
from synth.text.provenance.seen import stands


def memory_rows(ledger: StoredLedger, tally: ExportCounts) -> Iterator[SftRow]:
    """A row for every verified trace whose answer stands on what its tools gave; the actions are
    left out.
    """
    # tasks are redacted a few hundred at a time, so rows are refused before
    verified = (
        trajectory
        for trajectory, verdicts in with_decisions(ledger, tally.aside)
        if not tally.leaves(tally.refusal(Lineage(trajectory), verdicts))
    )

    for trajectory, task in with_redacted_tasks(ledger, verified, tally.aside):
        make = partial(compiled, trajectory, task, thoughts=tally.settings.thoughts)
        if (row := tally.made(trajectory.trajectory_id, make)) is not None:
            yield row


def compiled(trajectory: Trajectory, task: Task | None, *, thoughts: bool = True) -> SftRow | str:
    """Question and tool outputs -> answer, or why not: `no_question`, `no_answer`, `no_outputs`,
    `unsupported_answer`, `masked_answer`.
    """
    question, turns = question_of(trajectory, task), trajectory.turns
    if not question:
        return "no_question"
    last = turns[-1] if turns else None
    if last is None or not last.content or last.tool_calls:
        return "no_answer"
    if mask_reason(last, len(turns) - 1, trajectory.pivot_turn) is not None:
        return "masked_answer"

    outputs = _outputs(turns[:-1])
    if not outputs:
        return "no_outputs"
    if not supported(last.content, question, outputs):
        return "unsupported_answer"

    context = "\n\n".join(f"[{number}] {output}" for number, output in enumerate(outputs, start=1))
    asked: Message = {"role": "user", "content": f"{context}\n\n{question}"}
    # the actions are left out, and with them the tools that nobody is to call
    answer = turn_messages(replace(last, agent=None, observations=()), thoughts=thoughts)
    extra = {"context": context, "question": question, "answer": last.content}
    shell = replace(trajectory, tools=(), turns=())

    return SftRow([asked, *answer], shell, trained=(0,), masked={}, extra=extra)


def _outputs(turns: Iterable[Turn]) -> list[str]:
    """What tools and the world gave; what came several times is told once."""
    found = dict.fromkeys(
        one.content
        for turn in turns
        for one in turn.observations
        if one.source is not Source.USER and not one.error and one.content
    )
    return list(found)


def supported(answer: str, question: str, outputs: Iterable[str]) -> bool:
    """Whether all that an answer names stands in the outputs or the question, and something of it
    in the outputs alone.

    What it names are identifiers, numbers, names, paths and quotations (`literals`); an answer that
    names nothing must stand there itself.
    """
    seen, asked = "\n".join(outputs).casefold(), question.casefold()
    named = {name.casefold() for name in literals(answer)} or {
        answer.strip().rstrip(".").casefold()
    }
    # numbers are compared as numbers
    numbers = {name for name in named if name.replace(".", "").replace(",", "").isdigit()}
    in_outputs, in_question = (
        {name for name in named if stands(text, name, number=name in numbers)}
        for text in (seen, asked)
    )

    # an answer that only repeats the question shows nothing of the context
    return named == in_outputs | in_question and bool(in_outputs - in_question)


def question_of(trajectory: Trajectory, task: Task | None) -> str:
    """The task's goal, else what users said first."""
    if task is not None and task.goal:
        return task.goal
    said = (one.content for one in trajectory.opening if one.source is Source.USER)
    return "\n\n".join(said)


MEMORY = Kind(
    name="memory",
    rows=memory_rows,
    rule=COMPILED_TRACES,
    texts=chat_texts,
    counts=chat_counts,
    content=lambda row: row.messages,
)
