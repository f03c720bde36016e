"""Argument and choice provenance of one trajectory, turn by turn."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from synth.schemas.trajectory import Observation, Source, ToolCall, ToolSchema, Trajectory, Turn
from synth.text.provenance.arguments import (
    Argument,
    all_permitted,
    exempt,
    parameters,
    permitted,
    scalars,
)
from synth.text.provenance.choices.choosing import judged
from synth.text.provenance.choices.wishes import wished
from synth.text.provenance.computation import computed, may_be_computed
from synth.text.provenance.dates import as_date, computed_date, days_between
from synth.text.provenance.effect import Effectful, effectful_by_name, read_only_hint
from synth.text.provenance.objects import Objects, is_identifier, stem
from synth.text.provenance.quantities import quantities
from synth.text.provenance.report import ArgumentFinding, Choice, ProvenanceReport, Sighting, Status
from synth.text.provenance.seen import Seen
from synth.text.provenance.small_numbers import proven, small

_ERROR = ("error", "traceback", "exception")
Verdict = tuple[Status, Sighting | None]
Call = tuple[int, str, list[Argument]]
"""(place in the turn, tool, scalars)."""


def provenance(trajectory: Trajectory, *, effectful: Effectful | None = None) -> ProvenanceReport:
    """Where every scalar argument of an effectful call comes from, and whether what it names was
    singled out.

    A value is justified by what stood in the agent's context before the turn of its call (system
    prompt, opening, users, tool answers)
    or by the tools' schemas, to the letter after normalisation, or by a declared computation of
    such values. The agent's own messages
    and calls are no source, nor is an error that only repeats them. `effectful` says which tools
    change something; without it the
    tools' annotations do, else the verbs of their names.
    """
    tools = {str(tool.get("function", tool).get("name")): tool for tool in trajectory.tools}
    episode = _Episode(tools, effectful)
    episode.calls = [episode.judgeable(turn) for turn in trajectory.turns]
    if trajectory.system_prompt is not None:
        episode.seen.show(None, "system", trajectory.system_prompt)
    for observation in trajectory.opening:
        episode.observe(None, observation, {})
    for turn, calls in zip(trajectory.turns, episode.calls, strict=True):
        episode.act(turn, calls)
    return ProvenanceReport(tuple(episode.findings), tuple(episode.choices))


@dataclass(slots=True)
class _Episode:
    """What was seen and found up to a turn."""

    tools: Mapping[str, ToolSchema]
    declared: Effectful | None
    seen: Seen = field(default_factory=Seen)
    objects: Objects = field(default_factory=Objects)
    heard: list[str] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    findings: list[ArgumentFinding] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    calls: list[list[Call]] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    _schema_values: frozenset[str] | None = None
    _argument_names: frozenset[str] | None = None
    _taken: dict[str, set[str]] | None = None

    def judgeable(self, turn: Turn) -> list[Call]:
        """The effectful calls of a turn whose arguments can be read."""
        return [
            (at, call.name, scalars(call.parsed(), parameters(self.tools.get(call.name))))
            for at, call in enumerate(turn.tool_calls)
            if call.parse_error is None and self.changes(call.name)
        ]

    def act(self, turn: Turn, calls: list[Call]) -> None:
        """Judges a turn's calls by what came before it, then adds what followed."""
        for at, tool, arguments in calls:
            values = {a.value for a in arguments if isinstance(a.value, str)}
            outermost = {
                a.value for a in arguments if isinstance(a.value, str) and a.path == a.name
            }
            for argument in arguments:
                status, where = self._verdict(argument, outermost)
                self.findings.append(
                    ArgumentFinding(
                        turn.index, at, tool, argument.path, argument.value, status, where
                    )
                )
                if status is not Status.EXEMPT and isinstance(argument.value, str):
                    self._choose(turn.index, at, tool, argument, argument.value, values)
        for call in turn.tool_calls:
            self.seen.wrote(call.arguments)
        answers = [
            observation.content
            for observation in turn.observations
            if observation.source is Source.USER
        ]
        if answers:
            question = "\n".join(
                [turn.content or "", *(call.arguments for call in turn.tool_calls)]
            )
            self.answers += [(question, answer) for answer in answers]
        asked = {call.call_id: call for call in turn.tool_calls}
        for observation in turn.observations:
            self.observe(turn.index, observation, asked)

    def observe(
        self, turn: int | None, observation: Observation, asked: Mapping[str, ToolCall]
    ) -> None:
        """Adds what the agent was shown; tool answers are read as JSON only when a question needs
        it.
        """
        if observation.source is Source.TOOL:
            call = asked.get(observation.call_id or "")
            name = observation.name or (call.name if call is not None else "unknown")
            error = observation.error or observation.content[:12].lstrip().casefold().startswith(
                _ERROR
            )
            self.seen.show(turn, f"tool:{name}", observation.content, error=error)
            if not error:
                self.unread.append(
                    (observation.content, call.arguments if call is not None else "")
                )
        else:
            self.seen.show(
                turn, observation.source.value, observation.content, error=observation.error
            )
            if observation.source is Source.USER:
                self.heard.append(observation.content)

    def changes(self, tool: str) -> bool:
        """Whether a tool is effectful."""
        if self.declared is not None:
            return self.declared(tool)
        hint = read_only_hint(self.tools.get(tool))
        return effectful_by_name(tool) if hint is None else not hint

    def _verdict(self, argument: Argument, beside: set[str]) -> Verdict:
        value = argument.value
        if exempt(argument):
            return Status.EXEMPT, None
        if isinstance(value, bool) or value in permitted(argument.schema):
            return Status.SCHEMA, Sighting(None, "schema")
        if self._unproven(argument, beside):
            return Status.UNJUSTIFIED, None
        found = self.seen.first(value)
        if found is not None:
            return Status.OBSERVED, found
        if isinstance(value, str) and value.casefold() in self._named_by_schemas():
            return Status.SCHEMA, Sighting(None, "schema")
        found = self.seen.first_respelled(value)
        if found is not None:
            return Status.OBSERVED, found
        how = self._computation(argument)
        return (
            (Status.UNJUSTIFIED, None)
            if how is None
            else (Status.COMPUTED, Sighting(None, "computation", how))
        )

    def _unproven(self, argument: Argument, beside: set[str]) -> bool:
        """Whether an argument is a small whole number that stands nowhere where it would prove
        something.
        """
        number = small(argument)
        if number is None:
            return False
        self._read()
        instructions = [
            piece.content for piece in self.seen.pieces if piece.source in ("system", "environment")
        ]
        return not proven(
            argument.name, number, self.objects, beside, self._names(), instructions, self.heard
        )

    def _names(self) -> frozenset[str]:
        """Stems of the names of all tools' arguments."""
        if self._argument_names is None:
            self._argument_names = frozenset(
                stem(name)
                for tool in self.tools.values()
                for name in parameters(tool).get("properties", ())
            )
        return self._argument_names

    def _computation(self, argument: Argument) -> str | None:
        value = argument.value
        day = as_date(value)
        prose = [piece.folded for piece in self.seen.pieces if not piece.source.startswith("tool:")]
        if day is not None:
            self._read()
            counts = quantities(self.objects.documents, prose).counts
            return computed_date(
                day, [piece.folded for piece in self.seen.pieces if not piece.error], counts
            )
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not may_be_computed(argument.name)
        ):
            return self._listed(value)
        self._read()
        texts = [
            *prose,
            *(
                piece.folded
                for piece in self.seen.pieces
                if not piece.error and piece.folded[:1] not in ("{", "[")
            ),
        ]
        how = computed(value, argument.name, quantities(self.objects.documents, texts))
        if (
            how is None
            and isinstance(value, int)
            and days_between(value, [p.folded for p in self.seen.pieces if not p.error])
        ):
            return "days between"
        return how

    def _listed(self, value: object) -> str | None:
        """Several seen values in one string, separated by commas."""
        parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
        return (
            "list"
            if len(parts) > 1 and all(part and self.seen.first(part) is not None for part in parts)
            else None
        )

    def _named_by_schemas(self) -> frozenset[str]:
        if self._schema_values is None:
            values = all_permitted(tuple(self.tools.values()))
            self._schema_values = frozenset(
                value.casefold() for value in values if isinstance(value, str)
            )
        return self._schema_values

    def _read(self) -> None:
        for content, asked in self.unread:
            self.objects.read(content, asked)
        self.unread.clear()

    def _choose(
        self, turn: int, at: int, tool: str, argument: Argument, value: str, values: set[str]
    ) -> None:
        """Adds a choice where the argument names one of several siblings, or one of a schema's
        values that nobody had asked for.
        """
        found = None
        named = argument.schema.get("enum")
        if isinstance(named, list):
            if value in named and self.seen.first(value) is None:
                known_words = (
                    f"{tool} {' '.join(parameters(self.tools.get(tool)).get('properties', ()))}"
                )
                opening = [("", text) for text in self.heard]
                found = wished(argument.name, value, named, [*opening, *self.answers], known_words)
        elif is_identifier(value):
            self._read()
            found = judged(self.objects, self.heard, value, values - {value}, self._taken_by(tool))
        if found is not None:
            proposed = any(value in question for question, _ in self.answers)
            self.choices.append(Choice(turn, at, tool, argument.path, value, *found, proposed))

    def _taken_by(self, tool: str) -> set[str]:
        """What a tool was called for in the whole trajectory."""
        if self._taken is None:
            self._taken = {}
            for _, name, arguments in (call for calls in self.calls for call in calls):
                self._taken.setdefault(name, set()).update(
                    a.value for a in arguments if isinstance(a.value, str)
                )
        return self._taken.get(tool, set())
