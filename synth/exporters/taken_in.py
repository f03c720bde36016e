"""Which successes no export of the flow would take in: a share spent on them is lost."""

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from synth.exporters.registry import FORMS, form_of, forms_of
from synth.schemas.flow import Flow
from synth.schemas.trajectory import Authorship


class TakenIn(msgspec.Struct, frozen=True):
    """What the flow's exports take in of what they leave out unasked: rows that scripts wrote,
    public test sets, held-out splits, and
    rows some of whose turns must carry no loss (where a form cannot say that, and no rows of one
    turn each are asked for). `evidence`:
    runs that were played to test an act.
    """

    scripted: bool = True
    benchmark: bool = False
    held_out: bool = False
    masked: bool = True
    evidence: bool = False

    @classmethod
    def by(cls, flow: Flow, kind: str) -> Self:
        """By the exports of a kind of dataset that the flow names, all together; without one,
        scripts are left to a later export.
        """
        settings = [
            choice.settings if isinstance(choice.settings, dict) else {}
            for choice in flow.stages
            if choice.name == "export"
        ]
        exports = [given for given in settings if kind in given.get("kinds", ("sft",))]
        if not exports:
            return cls()
        allowances = ("include_scripted", "allow_benchmark", "allow_held_out", "include_evidence")
        scripted, benchmark, held_out, evidence = (
            any(given.get(name) is True for given in exports) for name in allowances
        )
        return cls(
            scripted,
            benchmark,
            held_out,
            any(_keeps_masked(given, kind) for given in exports),
            evidence,
        )

    def refusal(
        self,
        benchmark: str | None,
        held_out: bool,
        authorship: str | None = None,
        *,
        masked: bool = False,
    ) -> str | None:
        """Why something is not taken in, by the names that exports use; None where it is."""
        refused: Mapping[str, Any] = {
            "scripted": authorship == Authorship.SCRIPTED and not self.scripted,
            "benchmark": benchmark is not None and not self.benchmark,
            "held_out": held_out and not self.held_out,
            "masked_turns": masked and not self.masked,
        }
        return next((reason for reason, holds in refused.items() if holds), None)


def _keeps_masked(export: Mapping[str, Any], kind: str) -> bool:
    """Whether an export has a place for turns without loss. A form that is not known is refused
    elsewhere.
    """
    if export.get("keep_masked") is True or export.get("unroll", "whole") != "whole":
        return True
    form = export.get("as", forms_of(kind)[0])
    return (kind, form) in FORMS and form_of(kind, form).masks
