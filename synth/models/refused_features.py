"""A server that refuses part of what it is asked for is asked without it: tools where it was
started without a parser for calls, replies of a form where it knows none.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from synth.models.server_error import ServerError
from synth.schemas import ChatModel, Completion, Messages, Sampling, ToolSchemas

FORM = "response_format"
FORMS = frozenset({FORM, "structured_outputs"})
"""What a request may name that holds its reply to a form."""
UNPARSED = "tools_without_server_parser"
FORM_REFUSED = "response_format_refused"
_REFUSED = frozenset({400, 422})
UNBOUNDED = "json_schema, lists of any length"
_LENGTHS = frozenset({"minItems", "maxItems"})
_PARSER_WORDS = ("tool-call-parser", "tool_call_parser", "auto tool choice")
"""vLLM's words, with which it refuses tools where no parser was named."""
_FORM_WORDS = ("response_format", "response format", "schema", "grammar", "guided", "structured")
"""Of which servers speak that refuse a form; a request may be refused for any other reason."""
SHOWN_ONLY: Mapping[str, Any] = {"tool_choice": "none"}
"""Tools are then shown to the model, and its calls come as text, which synth reads."""


class FittingChat:
    """A model asked for what its server takes; what it refused once is not asked for again.

    A schema that is refused is asked for without the lengths of its lists, then becomes JSON of any
    form, then no form at all. A request that is
    refused without it too is refused for another reason: that is raised.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._unparsed = False
        self._forms: tuple[str | None, ...] = ("json_schema", UNBOUNDED, "json_object", None)
        self.close = model.close

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def complete(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling
    ) -> Completion:
        """One reply; its repairs name what was left out. Raises `ModelError`."""
        if FORM not in sampling.extra:
            return await self._with_tools(messages, tools, sampling)

        refusal = None
        for form in self._forms:
            asked = _formed(sampling, form)
            if asked is None or (refusal is not None and asked == sampling):
                continue
            try:
                reply = await self._with_tools(messages, tools, asked)
            except ServerError as error:
                refusal = refusal or error
                if form is None or not refuses_form(error):
                    raise refusal from error
                continue
            self._forms = self._forms[self._forms.index(form) :]
            return reply if asked == sampling else _named(reply, FORM_REFUSED)
        return await self._with_tools(messages, tools, sampling)

    async def _with_tools(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling
    ) -> Completion:
        """One reply to a request with tools; where only they are refused, they are shown."""
        chosen = "tool_choice" in sampling.extra
        if not (tools and self._unparsed) or chosen:
            try:
                return await self._model.complete(messages, tools, sampling)
            except ServerError as error:
                if not tools or chosen or not wants_parser(error):
                    raise

        shown = replace(sampling, extra={**sampling.extra, **SHOWN_ONLY})
        reply = await self._model.complete(messages, tools, shown)
        self._unparsed = True
        return _named(reply, UNPARSED)


def refuses_form(error: ServerError) -> bool:
    """Whether a server refused a reply's form."""
    told = str(error).lower()
    return error.status in _REFUSED and any(words in told for words in _FORM_WORDS)


def wants_parser(error: ServerError) -> bool:
    """Whether a server refused tools since it was started without a parser for calls."""
    told = str(error).lower()
    return error.status in _REFUSED and any(words in told for words in _PARSER_WORDS)


def _formed(sampling: Sampling, form: str | None) -> Sampling | None:
    """The sampling with a form of this kind in place of its own; None where it asks for less."""
    own = sampling.extra[FORM]
    kind = own.get("type") if isinstance(own, Mapping) else None
    if form == kind:
        return sampling
    if form == UNBOUNDED and kind == "json_schema":
        return replace(sampling, extra={**sampling.extra, FORM: _unbounded(own)})
    if form in ("json_schema", UNBOUNDED):
        return None
    others = {name: value for name, value in sampling.extra.items() if name != FORM}
    if form == "json_object":
        others[FORM] = {"type": form}
    return replace(sampling, extra=others)


def _unbounded(schema: Any) -> Any:
    """The same without the lengths of lists, which some servers refuse."""
    if isinstance(schema, Mapping):
        return {key: _unbounded(value) for key, value in schema.items() if key not in _LENGTHS}
    return [*map(_unbounded, schema)] if isinstance(schema, list) else schema


def _named(reply: Completion, repair: str) -> Completion:
    """The reply with a further repair."""
    return replace(reply, repairs=(*reply.repairs, repair))
