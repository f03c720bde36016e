"""Kinds of data set, and the forms in which each can be written; importing this loads none."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from synth.schemas.errors import ConfigError

if TYPE_CHECKING:
    from synth.exporters.kind import Form, Kind


from collections.abc import Mapping
from typing import Self

import msgspec

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


KINDS: dict[str, tuple[str, ...]] = {
    "sft": ("trl", "llamafactory", "axolotl", "verl", "atif", "openai", "sts"),
    "dpo": ("trl", "llamafactory", "axolotl"),
    "kto": ("trl", "llamafactory"),
    "prm": ("trl", "axolotl"),
    "rl": ("trl", "verl"),
    "attribution": ("who_and_when",),
    "memory": ("trl", "llamafactory", "axolotl", "openai"),
}
"""Each kind, with its forms; the first is written where none is asked for. `synth.exporters.KIND`
(of labels on turns `synth.exporters.labelled`) and `synth.exporters.forms.FORM` have it under the
kind's name, in capitals.
"""
_LABELLED = ("dpo", "kto", "prm")
FORMS = tuple((kind, form) for kind, forms in KINDS.items() for form in forms)


def forms_of(kind: str) -> list[str]:
    """The forms of a kind, its own first."""
    return [*KINDS.get(kind, ())]


def require(kind: str, form: str | None, kind_at: str = "kind", form_at: str = "form") -> None:
    """Raises `ConfigError` for a kind or a form that is not known, naming those that are; the
    places say where it was asked for.
    """
    if kind not in KINDS:
        raise ConfigError(
            f"{kind_at} {kind!r} is not a kind of dataset; known: {', '.join(sorted(KINDS))}"
        )
    if form is not None and (kind, form) not in FORMS:
        raise ConfigError(
            f"{form_at} {form!r} is not a form of {kind}; known: {', '.join(forms_of(kind))}"
        )


def kind_of(name: str) -> "Kind":
    """A kind by name."""
    require(name, None)
    return cast("Kind", _loaded("labelled" if name in _LABELLED else name, name))


def form_of(kind: str, name: str | None) -> "Form":
    """A form of a kind by name, or the kind's own."""
    require(kind, name)
    return cast("Form", _loaded(f"forms.{name or KINDS[kind][0]}", kind))


def _loaded(module: str, kind: str) -> Any:
    return getattr(import_module(f"synth.exporters.{module}"), kind.upper())
