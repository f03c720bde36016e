"""Which successes no export of the flow would take in: a share spent on them is lost."""

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from synth.exporters.registry import FORMS, form_of, forms_of
from synth.schemas.flow import Flow
from synth.schemas.release import Release


class TakenIn(msgspec.Struct, frozen=True):
    """What the flow's exports let leave, all together, and whether any has a place for rows some of
    whose turns must carry no loss.
    """

    release: Release = Release(include_scripted=True)
    masked: bool = True

    @classmethod
    def by(cls, flow: Flow, kind: str) -> Self:
        """By the exports of a kind of dataset that the flow names; without one, scripts are left to
        a later export.
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
        given = {name: any(one.get(name) is True for one in exports) for name in allowances}
        return cls(Release.model_validate(given), any(_keeps_masked(one, kind) for one in exports))

    @property
    def settings(self) -> Mapping[str, bool]:
        """For the key of the stage that goes by it."""
        return {
            "scripted": self.release.include_scripted,
            "benchmark": self.release.allow_benchmark,
            "held_out": self.release.allow_held_out,
            "masked": self.masked,
            "evidence": self.release.include_evidence,
        }


def _keeps_masked(export: Mapping[str, Any], kind: str) -> bool:
    """Whether an export has a place for turns without loss. A form that is not known is refused
    elsewhere.
    """
    if export.get("keep_masked") is True or export.get("unroll", "whole") != "whole":
        return True
    form = export.get("as", forms_of(kind)[0])
    return (kind, form) in FORMS and form_of(kind, form).masks
