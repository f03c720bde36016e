"""Argument and choice provenance of one trajectory, turn by turn."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from synth.schemas import (
    PROVIDER_MASK,
    Observation,
    Source,
    ToolCall,
    Trajectory,
    Turn,
)
from synth.text.provenance.arguments import (
    Argument,
    by_name,
    parameters,
    properties,
    scalars,
)
from synth.text.provenance.choices.choosing import judged
from synth.text.provenance.choices.wishes import wished
from synth.text.provenance.effect import TALKING_VERBS, Effectful, changes, first_word
from synth.text.provenance.justification import Justifications
from synth.text.provenance.kinds.kind import kind_of, parts
from synth.text.provenance.kinds.sql import changes_rows, is_sql
from synth.text.provenance.objects import is_identifier
from synth.text.provenance.report import ArgumentFinding, Choice, ProvenanceReport, Status
from synth.text.provenance.seen import Seen

_ERROR = ("error", "traceback", "exception")


def provenance(trajectory: Trajectory, *, effectful: Effectful | None = None) -> ProvenanceReport:
    """Where every scalar argument of an effectful call comes from, and whether it was singled out.

    A value is justified by what stood in the agent's context before the turn of its call (system
    prompt, opening, users, tool answers) or by the tools' schemas, to the letter after
    normalisation, or by a declared computation of such values. The agent's own messages and calls
    are no source, nor is an error that only repeats them. `effectful` says which tools change
    something; without it the tools' annotations do, else the verbs of their names.
    """
    episode = _Episode(trajectory, effectful)
    if trajectory.system_prompt is not None:
        episode.seen.show(None, "system", trajectory.system_prompt)

    for observation in trajectory.opening:
        episode.observe(None, observation, None)

    for turn, calls in zip(trajectory.turns, episode.calls, strict=True):
        episode.act(turn, calls)

    return ProvenanceReport(tuple(episode.findings), tuple(episode.choices))


class _Episode:
    """What was seen and found up to a turn."""

    def __init__(self, trajectory: Trajectory, effectful: Effectful | None) -> None:
        self.tools = by_name(trajectory.tools)
        self.effectful = effectful
        self.seen = Seen()
        self.answers: list[tuple[str, str]] = []
        self.justified = Justifications(self.tools, self.seen)
        self.findings: list[ArgumentFinding] = []
        self.choices: list[Choice] = []
        self.calls = [
            [(call, self._judged(call, turn)) for call in turn.tool_calls]
            for turn in trajectory.turns
        ]
        self.taken = defaultdict[str, set[str]](set)
        """What each tool was called for in the whole trajectory."""
        for call, arguments in chain.from_iterable(self.calls):
            self.taken[call.name] |= _texts(arguments)

    def _judged(self, call: ToolCall, turn: Turn) -> list[Argument]:
        """The scalars of an effectful call whose arguments can be read; what the provider ran (a
        search, a sandbox) changes nothing of the user's.
        """
        tool = self.tools.get(call.name)
        acts = changes(call.name, tool) if self.effectful is None else self.effectful(call.name)
        if call.parse_error is not None or turn.mask == PROVIDER_MASK:
            return []

        found = list(scalars(call.parsed(), parameters(tool)))
        texts = (one.value for one in found if isinstance(one.value, str))
        # a tool that queries may be told to change, and an answer may be a statement
        is_change = is_sql if first_word(call.name) in TALKING_VERBS else changes_rows
        acts = acts or (self.effectful is None and any(map(is_change, texts)))

        return found if acts else []

    def act(self, turn: Turn, calls: Sequence[tuple[ToolCall, Sequence[Argument]]]) -> None:
        """Judges a turn's calls by what came before it, then adds what followed."""
        for at, (call, arguments) in enumerate(calls):
            self._judge(turn.index, at, call.name, arguments)

        for call, arguments in calls:
            self.seen.wrote(call.arguments)
            for one in arguments:
                self.justified.wrote(one, call.name)

        question = "\n".join([turn.content or "", *(call.arguments for call in turn.tool_calls)])
        asked = {call.call_id: call for call in turn.tool_calls}

        for observation in turn.observations:
            self.observe(turn.index, observation, asked.get(observation.call_id or ""))
            if observation.source is Source.USER:
                self.answers.append((question, observation.content))

    def observe(self, turn: int | None, observation: Observation, call: ToolCall | None) -> None:
        """Adds what the agent was shown; `call` is the one that a tool's answer is for."""
        content, error = observation.content, observation.error

        if observation.source is not Source.TOOL:
            self.seen.show(turn, observation.source.value, content, error=error)
            return

        name = observation.name or (call.name if call is not None else "unknown")
        error = error or content[:12].lstrip().casefold().startswith(_ERROR)
        asked = call.arguments if call is not None else ""
        self.seen.show(turn, f"tool:{name}", content, error=error, asked=asked)

    def _judge(self, turn: int, at: int, tool: str, arguments: Sequence[Argument]) -> None:
        """Adds the findings of a call, and the choices among them."""
        texts = _texts(arguments)
        outermost = _texts([one for one in arguments if one.path == one.name])

        for one in arguments:
            value, status = one.value, None
            for part, status, where in self.justified.sources(one, tool, outermost):
                found = ArgumentFinding(turn, at, tool, one.path, part, status, where)
                self.findings.append(found)

            composed = parts(one, kind_of(one, tool), tool) is not None
            if composed or not isinstance(value, str) or status is Status.EXEMPT:
                continue

            chosen = self._chosen(tool, one, value, texts - {value})

            if chosen is not None:
                proposed = any(value in question for question, _ in self.answers)
                self.choices.append(Choice(turn, at, tool, one.path, value, *chosen, proposed))

    def _chosen(
        self, tool: str, argument: Argument, value: str, beside: set[str]
    ) -> tuple[int, int, str] | None:
        """What a value was chosen from: siblings, or values of a schema that nobody had asked for.

        Returns (how many, how many of them nothing tells apart, why), None where it is no choice.
        """
        named = argument.schema.get("enum")

        if isinstance(named, list):
            if value not in named or self.seen.first(value) is not None:
                return None

            known = f"{tool} {' '.join(properties(self.tools.get(tool)))}"
            answers = [*(("", text) for text in self.seen.heard("user")), *self.answers]

            return wished(argument.name, value, named, answers, known)

        if not is_identifier(value):
            return None

        return judged(self.seen, value, beside, self.taken[tool])


def _texts(arguments: Iterable[Argument]) -> set[str]:
    """The arguments that are texts."""
    return {one.value for one in arguments if isinstance(one.value, str)}
