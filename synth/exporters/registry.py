"""Kinds of data set, and the forms in which each can be written; importing this loads none."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from synth.schemas.errors import ConfigError

if TYPE_CHECKING:
    from synth.exporters.kind import Form, Kind

KINDS: dict[str, str] = {
    "sft": "synth.exporters.sft:SFT",
    "dpo": "synth.exporters.dpo:DPO",
    "kto": "synth.exporters.kto:KTO",
    "prm": "synth.exporters.prm:PRM",
    "rl": "synth.exporters.rl:RL",
    "attribution": "synth.exporters.attribution:ATTRIBUTION",
    "memory": "synth.exporters.memory:MEMORY",
}

FORMS: dict[tuple[str, str], str] = {
    ("sft", "trl"): "synth.exporters.trl:SFT",
    ("sft", "llamafactory"): "synth.exporters.llamafactory:SFT",
    ("sft", "axolotl"): "synth.exporters.axolotl:SFT",
    ("sft", "verl"): "synth.exporters.verl:SFT",
    ("sft", "atif"): "synth.exporters.atif:TRACES",
    ("sft", "openai"): "synth.exporters.openai_messages:SFT",
    ("sft", "sts"): "synth.exporters.session_traces:TRACES",
    ("dpo", "trl"): "synth.exporters.trl_preferences:DPO",
    ("dpo", "llamafactory"): "synth.exporters.llamafactory_preferences:DPO",
    ("dpo", "axolotl"): "synth.exporters.axolotl_preferences:DPO",
    ("kto", "trl"): "synth.exporters.trl_preferences:KTO",
    ("kto", "llamafactory"): "synth.exporters.llamafactory_preferences:KTO",
    ("prm", "trl"): "synth.exporters.trl_preferences:PRM",
    ("prm", "axolotl"): "synth.exporters.axolotl_preferences:PRM",
    ("rl", "trl"): "synth.exporters.trl_tasks:RL",
    ("rl", "verl"): "synth.exporters.verl_tasks:RL",
    ("attribution", "who_and_when"): "synth.exporters.who_and_when:ATTRIBUTION",
    ("memory", "trl"): "synth.exporters.trl:MEMORY",
    ("memory", "llamafactory"): "synth.exporters.llamafactory:SFT",
    ("memory", "axolotl"): "synth.exporters.axolotl:SFT",
    ("memory", "openai"): "synth.exporters.openai_messages:SFT",
}
"""The first form of a kind is the one that is written where none is asked for."""


def forms_of(kind: str) -> list[str]:
    """The forms of a kind, its own first."""
    return [form for of, form in FORMS if of == kind]


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
    return cast("Kind", _loaded(KINDS[name]))


def form_of(kind: str, name: str | None) -> "Form":
    """A form of a kind by name, or the kind's own."""
    require(kind, name)
    return cast("Form", _loaded(FORMS[kind, name or forms_of(kind)[0]]))


def _loaded(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
