"""The last look at what leaves the machine: every text is searched, and what is found and not
redacted keeps everything here.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from synth.ledger.decided import seen_by
from synth.ledger.flow_scan import SECRETS, FlowScan
from synth.ledger.ledger import Ledger
from synth.schemas.errors import ConfigError
from synth.text.redaction.findings import REDACTED, found_in
from synth.text.secrets.finder import GROUPS, Finder


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


def searched(ledger: Ledger) -> Searched:
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
        for span in found_in(text, self._finder):
            self.found[place, span.kind] += 1
        if self._token and self._token in text:
            self.found[place, "the token that publishes"] += 1

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
