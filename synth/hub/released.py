"""The release rule once more, before rows go to the Hub: what the user asked for, and whether each
row may leave under it.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.resources import files
from itertools import islice

import msgspec

from synth.datasets.release import Lineage, Reason, ReleaseRefusal, first, may_leave
from synth.exporters.registry import kind_of
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger.decisions import CHUNK, decision_order, verdicts_on, with_verdicts
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas import ConfigError
from synth.set_aside import SetAside

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


def metadata(licence: str, name: str | None, link: str | None) -> dict[str, str]:
    """How a card tells it to the Hub."""
    known = {"license": licence, "license_name": name, "license_link": link}
    return {key: value for key, value in known.items() if value is not None}


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
    """By trajectory or task. Who wrote a labelled turn is the export's to know, not asked here."""
    kind = kind_of(config.kind).rule
    allowed = {"allow_benchmark": wanted.allow_benchmark, "allow_held_out": wanted.allow_held_out}
    release = config.release.model_copy(update=allowed)
    valid, order = frozenset(ledger.state.current_valid()), decision_order(ledger)
    found: dict[str, ReleaseRefusal | None] = {}
    with connect(ledger) as connection:
        waiting = iter(ledger.trajectories(set(identities), every=True))
        while chunk := list(islice(waiting, CHUNK)):
            for one, verdicts in with_verdicts(connection, chunk, order, SetAside()):
                identity = one.trajectory_id
                authors = () if kind.on_evidence else None
                # A row of one turn may stand on another trajectory than the one it was taken from.
                again = kind.on_evidence or identity not in valid
                lineage = Lineage(one, authors, continuation=again)
                found[identity] = may_leave(lineage, verdicts, kind, release)
        tasks = ledger.tasks(set(identities))
        for identity, verdicts in verdicts_on(connection, list(tasks), order).items():
            found[identity] = may_leave(Lineage(tasks[identity]), verdicts, kind, release)
    return {identity: refusal for identity, refusal in found.items() if refusal is not None}
