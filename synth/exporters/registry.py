"""Kinds of data set, and the forms in which each can be written; importing this loads none."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from synth.schemas import ConfigError

if TYPE_CHECKING:
    from synth.exporters.form import Form
    from synth.exporters.kind import Kind

KINDS: dict[str, tuple[str, ...]] = {
    "sft": ("trl", "llamafactory", "axolotl", "verl", "atif", "openai", "sts"),
    "dpo": ("trl", "llamafactory", "axolotl"),
    "kto": ("trl", "llamafactory"),
    "dpo_observed": ("trl", "llamafactory", "axolotl"),
    "kto_observed": ("trl", "llamafactory"),
    "prm": ("trl", "axolotl"),
    "rl": ("trl", "verl"),
    "attribution": ("who_and_when",),
    "memory": ("trl", "llamafactory", "axolotl", "openai"),
}
"""Each kind, with its forms; the first is written where none is asked for. `kinds.KIND` (of labels
on turns `kinds.labelled`, of acts of collected trials `kinds.observed`) and `forms.FORM` of this
room have it under the kind's name, in capitals.
"""
_ROOMS = {
    **dict.fromkeys(("dpo", "kto", "prm"), "labelled"),
    **dict.fromkeys(("dpo_observed", "kto_observed"), "observed"),
}
FORMS = tuple((kind, form) for kind, forms in KINDS.items() for form in forms)


def require(kind: str, form: str | None, kind_at: str = "kind", form_at: str = "form") -> None:
    """Raises `ConfigError` for a kind or a form that is not known, naming those that are; the
    places say where it was asked for.
    """
    if kind not in KINDS:
        raise ConfigError(
            f"{kind_at} {kind!r} is not a kind of dataset; known: {', '.join(sorted(KINDS))}"
        )

    if form is not None and form not in KINDS[kind]:
        raise ConfigError(
            f"{form_at} {form!r} is not a form of {kind}; known: {', '.join(KINDS[kind])}"
        )


def kind_of(name: str) -> "Kind":
    """A kind by name."""
    require(name, None)
    return cast("Kind", _loaded(f"kinds.{_ROOMS.get(name, name)}", name))


def form_of(kind: str, name: str | None) -> "Form":
    """A form of a kind by name, or the kind's own."""
    require(kind, name)
    return cast("Form", _loaded(f"forms.{name or KINDS[kind][0]}", kind))


def _loaded(module: str, kind: str) -> Any:
    return getattr(import_module(f"synth.exporters.{module}"), kind.upper())
