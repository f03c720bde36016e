"""What justifies a value: where it was seen first, a schema, or a computation of what was seen."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from synth.schemas import Scalar, ToolSchema, canonical_json
from synth.text.provenance.arguments import (
    Argument,
    all_permitted,
    exempt,
    parameters,
    permitted,
    properties,
)
from synth.text.provenance.forms import written
from synth.text.provenance.kinds.computation import computation
from synth.text.provenance.kinds.kind import kind_of, made, parts
from synth.text.provenance.kinds.reckoned import reckoned, spellings
from synth.text.provenance.kinds.sql_names import NAMED, listed
from synth.text.provenance.objects import stem
from synth.text.provenance.report import Sighting, Status
from synth.text.provenance.seen import Seen, stands
from synth.text.provenance.small_numbers import proven, small

Verdict = tuple[Status, Sighting | None]
_SCHEMA = (Status.SCHEMA, Sighting(None, "schema"))


class Justifications:
    """What may justify the values of a trajectory's calls, up to a turn."""

    def __init__(self, tools: Mapping[str, ToolSchema], seen: Seen) -> None:
        self._tools = tools
        self._seen = seen
        self._made: list[str] = []
        """Files that the agent made, and what it wrote there: a source for commands and paths."""

    def wrote(self, argument: Argument, tool: str) -> None:
        """Adds the files that an argument of the agent's makes, and what it writes there."""
        self._made += map(str.casefold, made(argument, kind_of(argument, tool), tool))

    def sources(
        self, whole: Argument, tool: str, beside: set[str]
    ) -> Iterator[tuple[Scalar, Status, Sighting | None]]:
        """Each value that an argument is judged by: itself, or what it is composed of."""
        composed = parts(whole, kind_of(whole, tool), tool)
        as_it_stands = composed is None or (composed and self._seen.first(whole.value) is not None)

        if composed == [] or (as_it_stands and exempt(whole)):
            yield whole.value, Status.EXEMPT, None
        elif as_it_stands:
            yield whole.value, *self._known(whole, beside)
        else:
            for one in composed or ():
                yield one.value, *self._known_part(one, beside)

    def _known_part(self, part: Argument, beside: set[str]) -> Verdict:
        """How a literal of a composed argument is justified: also as the agent's own, in another
        spelling, or by what is reckoned with in commands.
        """
        text = str(part.value)
        unlisted = part.name == NAMED and not listed(self._seen.shown)
        if self._is_own(text) or unlisted:
            return Status.EXEMPT, None

        known = self._known(part, beside)
        if known[0] is not Status.UNJUSTIFIED:
            return known

        respelled = next(filter(None, map(self._seen.first, spellings(text))), None)
        if respelled is not None:
            return Status.OBSERVED, respelled

        how = reckoned(part.value, self._seen.heard("user"))

        return known if how is None else (Status.COMPUTED, Sighting(None, "computation", how))

    def _is_own(self, text: str) -> bool:
        """Whether the agent had made a file of this name or with it in, or both sides of an
        address were seen.
        """
        folded, sides = text.casefold(), text.split("@")
        own = any(stands(one, folded, number=folded.isdigit()) for one in self._made)

        return own or (len(sides) == 2 and all(map(self._seen.first, sides)))

    def _known(self, argument: Argument, beside: set[str]) -> Verdict:
        """How a value is justified that must be, and where it was seen first."""
        value = argument.value
        if isinstance(value, bool) or value in permitted(argument.schema):
            return _SCHEMA

        number = small(argument)
        if number is not None and not proven(
            argument.name, number, self._seen, beside, self._names
        ):
            return Status.UNJUSTIFIED, None

        found = self._seen.first(value)
        if found is None and isinstance(value, str) and value.casefold() in self._named_by_schemas:
            return _SCHEMA

        found = found or self._seen.first_respelled(value)
        if found is not None:
            return Status.OBSERVED, found

        how = computation(argument, self._seen)
        if how is not None:
            return Status.COMPUTED, Sighting(None, "computation", how)

        forms = written(value, type(value).__name__)
        described = any(stands(self._schemas, text, number=is_n) for text, is_n in forms)

        return _SCHEMA if described else (Status.UNJUSTIFIED, None)

    @cached_property
    def _names(self) -> frozenset[str]:
        """Stems of the names of all tools' arguments."""
        return frozenset(stem(name) for tool in self._tools.values() for name in properties(tool))

    @cached_property
    def _schemas(self) -> str:
        """The schemas of all tools with their descriptions, which the agent was shown, folded."""
        return canonical_json([*self._tools.values()]).decode().casefold()

    @cached_property
    def _named_by_schemas(self) -> frozenset[str]:
        """The values that the schemas of all tools name, folded."""
        values = [one for tool in self._tools.values() for one in all_permitted(parameters(tool))]
        return frozenset(value.casefold() for value in values if isinstance(value, str))
