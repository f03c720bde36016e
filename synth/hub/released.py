"""The release rule once more, before rows go to the Hub: what the user asked for, and whether each
row may leave under it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files

import msgspec
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils._validators import validate_repo_id

from synth.datasets.release import (
    KindRule,
    Lineage,
    Reason,
    ReleaseRefusal,
    first,
    may_leave,
)
from synth.exporters.registry import kind_of
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger.decisions import CHUNK, decision_order, verdicts_on, with_verdicts
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.ledger.with_tasks import batches
from synth.schemas import ConfigError, Verdict
from synth.set_aside import SetAside


def require_name(repo: str) -> None:
    """Raises `ConfigError` for what is no name of a repository."""
    try:
        validate_repo_id(repo)
        valid = bool(repo) and repo.count("/") <= 1
    except HFValidationError:
        valid = False
    if not valid:
        raise ConfigError(
            f"--repo {repo!r}: is no name of a repository: NAME or ACCOUNT/NAME of letters, "
            "digits, '-', '_' and '.', at most 96 characters"
        )


OTHER = "other"
LICENCES = files("synth.hub").joinpath("data/licences.txt").read_text(encoding="utf-8").splitlines()


def require_licence(licence: str, name: str | None, link: str | None) -> None:
    """Raises `ConfigError` for a name that the Hub does not have, and for `other` without its name
    and the place of its text.
    """
    if licence not in LICENCES:
        asked = licence.lower()
        near = sorted(
            get_close_matches(asked, LICENCES, n=6, cutoff=0.5),
            key=lambda name: not name.startswith(asked),
        )[:3]
        named = f"nearest: {', '.join(near)}" if near else "for instance apache-2.0, cc-by-4.0"
        raise ConfigError(
            f"--license {licence!r}: is no name that the Hub has for a licence ({named}); what it "
            f"has no name for is --license {OTHER} "
            "--license-name NAME --license-link URL"
        )
    if licence == OTHER and not (name and link):
        raise ConfigError(
            f"--license {OTHER}: the Hub asks which: give --license-name NAME and --license-link "
            "URL, where its text stands"
        )
    if licence != OTHER and (name or link):
        raise ConfigError(
            f"--license-name and --license-link belong to --license {OTHER}; the Hub knows "
            f"{licence} by its name"
        )
    if link and not link.startswith("https://"):
        raise ConfigError(
            f"--license-link {link!r}: give the URL of the licence's text, https://..."
        )


_TOLD = {
    "allow_benchmark": "attempts at public benchmarks",
    "allow_held_out": "attempts at held-out tasks",
}
"""Settings that a publication has, too, by what they let out."""


class PublishRequest(msgspec.Struct, frozen=True):
    """What the user asked for; `kinds` empty means all of them. Kept on this machine until it is
    done, so that it can be gone on with.
    """

    repo: str
    licence: str
    kinds: tuple[str, ...] = ()
    public: bool = False
    traces: int = 20
    allow_benchmark: bool = False
    allow_held_out: bool = False
    overwrite: bool = False
    licence_name: str | None = None
    licence_link: str | None = None

    @property
    def terms(self) -> dict[str, str]:
        """How a card tells its licence to the Hub."""
        known = {
            "license": self.licence,
            "license_name": self.licence_name,
            "license_link": self.licence_link,
        }
        return {key: value for key, value in known.items() if value is not None}


def require_released(
    ledger: StoredLedger, config: Config, facts: RowFacts, wanted: PublishRequest
) -> None:
    """Raises `ConfigError` where rows descend from what may not leave: under the export's settings,
    but benchmarks and held-out tasks only where the publication was told so itself.
    """
    refused = _refused(ledger, config, facts.identities, wanted)
    rows: Counter[tuple[Reason, str | None]] = Counter()
    details: defaultdict[tuple[Reason, str | None], set[str]] = defaultdict(set)
    for of_row, count in facts.stands_on.items():
        refusal = first(map(refused.get, of_row))
        if refusal is not None:
            rows[refusal.reason, refusal.setting] += count
            details[refusal.reason, refusal.setting].add(refusal.detail)
    for (reason, setting), count in rows.items():
        what = _TOLD.get(setting or "", f"kept here as {reason}")
        remedy = (
            f"--{setting.replace('_', '-')} publishes them, with a warning"
            if setting in _TOLD
            else "run the flow again, which writes it anew, then publish"
        )
        raise ConfigError(
            f"{config.name}: {count} of {facts.rows} rows are {what} "
            f"({', '.join(sorted(details[reason, setting]))}); {remedy}"
        )


def _refused(
    ledger: StoredLedger, config: Config, identities: Sequence[str], wanted: PublishRequest
) -> dict[str, ReleaseRefusal]:
    """By trajectory or task."""
    kind = kind_of(config.kind).rule
    allowed = {"allow_benchmark": wanted.allow_benchmark, "allow_held_out": wanted.allow_held_out}
    release = config.release.model_copy(update=allowed)
    return {
        identity: refusal
        for identity, lineage, verdicts in _lineages(ledger, identities, kind)
        if (refusal := may_leave(lineage, verdicts, kind, release)) is not None
    }


def _lineages(
    ledger: StoredLedger, identities: Sequence[str], kind: KindRule
) -> Iterator[tuple[str, Lineage, Mapping[str, Verdict]]]:
    """What rows descend from, with the verdicts on it. Who wrote a labelled turn is the export's to
    know, not asked here.
    """
    valid, order = frozenset(ledger.state.current_valid()), decision_order(ledger)
    with connect(ledger) as connection:
        for chunk in batches(ledger.trajectories(set(identities), every=True), CHUNK):
            for one, verdicts in with_verdicts(connection, chunk, order, SetAside()):
                authors = () if kind.on_evidence else None
                # A row of one turn may stand on another trajectory than the one it was taken from.
                again = kind.on_evidence or one.trajectory_id not in valid
                yield one.trajectory_id, Lineage(one, authors, continuation=again), verdicts
        tasks = ledger.tasks(set(identities))
        for identity, of_task in verdicts_on(connection, list(tasks), order).items():
            yield identity, Lineage(tasks[identity]), of_task
