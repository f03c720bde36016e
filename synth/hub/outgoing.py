"""The last look at what leaves the machine: every text is searched, and what is found and not
redacted keeps everything here.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from synth.ledger.decisions import seen_by
from synth.ledger.flow_scan import SECRETS, FlowScan
from synth.ledger.ledger import StoredLedger
from synth.schemas import ConfigError
from synth.text.redaction.findings import REDACTED, found_in
from synth.text.secrets.finder import GROUPS, Finder

_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*"')
"""One that ends a string in JSON."""


class Searched(msgspec.Struct, frozen=True):
    """What the ledger's filter `secrets` did: valid trajectories of the current flow, those without
    its decision, those it redacted.

    `settings` are the filter's, None where the flow has no such filter.
    """

    trajectories: int
    unseen: int
    redacted: int
    settings: Mapping[str, Any] | None

    @property
    def by_filter(self) -> bool:
        """Whether the filter has looked through every trajectory of the flow."""
        return self.settings is not None and self.unseen == 0


def searched(ledger: StoredLedger) -> Searched:
    """Asks the ledger."""
    return Searched(*seen_by(ledger, SECRETS, REDACTED), FlowScan(ledger).settings)


class PublishScan:
    """Searches texts with the settings of the run's own filter where that has seen every
    trajectory, else for all that is known.

    `token` is what publishes: it may stand in no text.
    """

    def __init__(self, by: Searched, token: str | None = None) -> None:
        settings = by.settings if by.by_filter and by.settings is not None else {}
        self._finder = Finder(
            tuple(settings.get("find", GROUPS)),
            tuple(settings.get("ignore", ())),
            tuple(settings.get("allow", ())),
            dict(settings.get("patterns", {})),
        )
        self._token = token
        self._by_filter = by.by_filter
        self.found: Counter[tuple[str, str]] = Counter()

    def search(self, place: str, text: str) -> None:
        """Counts what stands in a text, by place and kind; the text is kept nowhere."""
        for kind, times in self._kinds_in(text).items():
            self.found[place, kind] += times
        if self._token and self._token in text:
            self.found[place, "the token that publishes"] += 1

    def _kinds_in(self, text: str) -> Counter[str]:
        """Findings by kind. What reaches over the end of a string in a JSON text (a message is
        stored as one) ran into the next field: each member by itself then says what is there.
        """
        spans = found_in(text, self._finder)
        whole = [span for span in spans if not _QUOTE.search(text, span.start, span.end)]
        if len(whole) == len(spans) or (value := _parsed(text)) is None:
            return Counter(span.kind for span in spans)
        alone = (span for member in _members(value) for span in found_in(member, self._finder))
        return Counter(span.kind for span in whole) | Counter(span.kind for span in alone)

    def require_clean(self) -> None:
        """Raises `ConfigError` where anything was found."""
        if not self.found:
            return
        said = ", ".join(
            f"{count} x {kind} ({place})" for (place, kind), count in self.found.most_common(5)
        )
        more = f" and {len(self.found) - 5} more" if len(self.found) > 5 else ""
        remedy = (
            "the filter `secrets` was told to look for them, and what it cannot redact (goals of "
            "tasks, names) must be let through by its "
            "`allow` or `ignore`, or stay here"
            if self._by_filter
            else "add `secrets` to the flow's filters, which redacts them in all datasets (its "
            "`allow` and `ignore` name what is none)"
        )
        raise ConfigError(
            f"nothing was sent: secrets or personal data that are not redacted: {said}{more}; "
            f"{remedy}, and run it again"
        )


def _parsed(text: str) -> Any:
    """The value of a JSON text; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _members(value: Any) -> Iterator[str]:
    """Each string of a JSON value as a text of its own, with the name of the field it stands in."""
    if isinstance(value, dict):
        for name, held in value.items():
            if isinstance(held, str):
                yield msgspec.json.encode({name: held}).decode()
            else:
                yield from _members(held)
    elif isinstance(value, list):
        for held in value:
            yield from _members(held)
    elif isinstance(value, str):
        yield value
