"""What is found where nothing was planted: where each secret stands, never what it says."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.figures import Figure, Target
from benchmarks.unplanted import REAL, Unplanted
from synth.text.secrets.finder import Span
from synth.text.secrets.rules import CREDENTIAL, rules

SECRETS = {CREDENTIAL, *(rule.kind for rule in rules() if rule.group == "secrets")}


@dataclass(slots=True)
class Alarms:
    """All findings in the texts of one source."""

    source: str
    drawn: bool
    """Whether its texts were drawn to look like secrets, so that every finding is wrong."""
    texts: int = 0
    lines: int = 0
    different: set[str] = field(default_factory=set)
    wholes: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)
    """Where secrets stand: a line for each text."""
    with_secret: int = 0
    wholes_with_secret: set[str] = field(default_factory=set)

    def add(self, one: Unplanted, spans: Sequence[Span]) -> None:
        """Counts one text and what is found in it."""
        self.texts += 1
        self.lines += len(one.text.splitlines())
        self.different.add(one.text)
        self.wholes.add(one.whole)
        self.kinds.update(span.kind for span in spans)
        secrets = [span for span in spans if span.kind in SECRETS]
        if secrets:
            self.with_secret += 1
            self.wholes_with_secret.add(one.whole)
            self.told.append(_places(one, secrets))

    def report(self, turns: int) -> Iterator[str]:
        """Lines for a reader; `turns` of all trajectories."""
        size = f"{self.texts:,} texts, {len(self.different):,} different, {self.lines:,} lines"
        yield f"findings in {self.source} ({size}): {dict(self.kinds.most_common()) or 'none'}"
        yield from (f"  {line}" for line in self.told)
        if self.source == REAL:
            counts = {
                "trajectories": len(self.wholes),
                "turns": turns,
                "different texts": len(self.different),
            }
            for name, count in counts.items():
                yield f"  if none is wrong: at most {100 * _most(count):.2g} % of {count:,} {name}"

    def figures(self) -> list[Figure]:
        """What was drawn must stay nearly without findings; all else is only counted."""
        if self.drawn:
            alarms = 1000 * self.kinds.total() / self.texts
            name = f"findings in {self.source}, per 1,000"
            return [Figure(name, alarms, "", Target("at most", 1))]
        unit = f"of {self.texts:,}"
        found = [Figure(f"texts with a secret, {self.source}", self.with_secret, unit)]
        if self.source == REAL:
            unit = f"of {len(self.wholes):,}"
            found.append(Figure("trajectories with a secret", len(self.wholes_with_secret), unit))
        return found


def _most(count: int) -> float:
    """Upper end of the exact one-sided 95 % interval of a rate, where none of so many is wrong."""
    return float(1 - 0.05 ** (1 / count))


def _places(one: Unplanted, secrets: Sequence[Span]) -> str:
    """The text, kinds, and numbers of lines."""
    kinds = ", ".join(sorted({span.kind for span in secrets}))
    lines = sorted({one.text.count("\n", 0, span.start) + 1 for span in secrets})
    return f"{f'{one.whole} {one.place}'.strip()}, line {', '.join(map(str, lines))}: {kinds}"
