"""Argument and choice provenance of one trajectory, turn by turn."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain

from synth.schemas import Observation, Source, ToolCall, Trajectory, Turn
from synth.text.provenance.arguments import (
    Argument,
    all_permitted,
    by_name,
    exempt,
    parameters,
    permitted,
    properties,
    scalars,
)
from synth.text.provenance.choices.choosing import judged
from synth.text.provenance.choices.wishes import wished
from synth.text.provenance.dates import as_date, computed_date, days_between
from synth.text.provenance.effect import Effectful, changes
from synth.text.provenance.objects import is_identifier, stem
from synth.text.provenance.quantities import computed, may_be_computed, quantities
from synth.text.provenance.report import ArgumentFinding, Choice, ProvenanceReport, Sighting, Status
from synth.text.provenance.seen import Seen
from synth.text.provenance.small_numbers import proven, small

_ERROR = ("error", "traceback", "exception")
Verdict = tuple[Status, Sighting | None]
_SCHEMA = (Status.SCHEMA, Sighting(None, "schema"))


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
        self.findings: list[ArgumentFinding] = []
        self.choices: list[Choice] = []
        self.calls = [
            [(call, self._judged(call)) for call in turn.tool_calls] for turn in trajectory.turns
        ]
        self.taken = defaultdict[str, set[str]](set)
        """What each tool was called for in the whole trajectory."""
        for call, arguments in chain.from_iterable(self.calls):
            self.taken[call.name] |= _texts(arguments)

    def _judged(self, call: ToolCall) -> list[Argument]:
        """The scalars of an effectful call whose arguments can be read."""
        tool = self.tools.get(call.name)
        acts = changes(call.name, tool) if self.effectful is None else self.effectful(call.name)
        readable = acts and call.parse_error is None

        return list(scalars(call.parsed(), parameters(tool))) if readable else []

    def act(self, turn: Turn, calls: Sequence[tuple[ToolCall, Sequence[Argument]]]) -> None:
        """Judges a turn's calls by what came before it, then adds what followed."""
        for at, (call, arguments) in enumerate(calls):
            self._judge(turn.index, at, call.name, arguments)

        for call in turn.tool_calls:
            self.seen.wrote(call.arguments)

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
            value = one.value
            status, where = self._source(one, outermost)
            self.findings.append(ArgumentFinding(turn, at, tool, one.path, value, status, where))
            if not isinstance(value, str) or status is Status.EXEMPT:
                continue

            chosen = self._chosen(tool, one, value, texts - {value})

            if chosen is not None:
                proposed = any(value in question for question, _ in self.answers)
                self.choices.append(Choice(turn, at, tool, one.path, value, *chosen, proposed))

    def _source(self, argument: Argument, beside: set[str]) -> Verdict:
        """How an argument is justified, and where its value was seen first."""
        value = argument.value
        if exempt(argument):
            return Status.EXEMPT, None

        if isinstance(value, bool) or value in permitted(argument.schema):
            return _SCHEMA

        number = small(argument)
        if number is not None and not proven(argument.name, number, self.seen, beside, self._names):
            return Status.UNJUSTIFIED, None

        found = self.seen.first(value)
        if found is None and isinstance(value, str) and value.casefold() in self._named_by_schemas:
            return _SCHEMA

        found = found or self.seen.first_respelled(value)
        if found is not None:
            return Status.OBSERVED, found

        how = self._computation(argument)
        if how is not None:
            return Status.COMPUTED, Sighting(None, "computation", how)

        return Status.UNJUSTIFIED, None

    def _computation(self, argument: Argument) -> str | None:
        """How a value follows from what was seen, None where it does not."""
        value, seen = argument.value, self.seen
        day = as_date(value)

        if day is None and isinstance(value, str):
            parts = [part.strip() for part in value.split(",")]
            is_list = len(parts) > 1 and all(part and seen.first(part) for part in parts)
            return "list" if is_list else None

        prose = [piece.folded for piece in seen.pieces if not piece.source.startswith("tool:")]
        documents = seen.objects.documents
        if day is not None:
            return computed_date(day, seen.shown, quantities(documents, prose).counts)

        if not isinstance(value, int | float) or not may_be_computed(argument.name):
            return None

        words = [text for text in seen.shown if text[:1] not in ("{", "[")]
        how = computed(value, argument.name, quantities(documents, [*prose, *words]))
        if how is None and isinstance(value, int) and days_between(value, seen.shown):
            return "days between"

        return how

    @cached_property
    def _names(self) -> frozenset[str]:
        """Stems of the names of all tools' arguments."""
        return frozenset(stem(name) for tool in self.tools.values() for name in properties(tool))

    @cached_property
    def _named_by_schemas(self) -> frozenset[str]:
        """The values that the schemas of all tools name, folded."""
        values = [one for tool in self.tools.values() for one in all_permitted(parameters(tool))]
        return frozenset(value.casefold() for value in values if isinstance(value, str))

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
