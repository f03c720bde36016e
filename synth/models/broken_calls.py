"""A history with tool calls whose arguments are no JSON, for servers that refuse to read such
calls.
"""

from msgspec.structs import replace

from synth.models.server_error import ServerError
from synth.schemas import (
    ChatModel,
    Completion,
    Message,
    Messages,
    Sampling,
    ToolSchemas,
    argument_error,
)
from synth.text.calls.forms.hermes import rendered_call

SENT_AS_TEXT = "broken_calls_sent_as_text"


class BrokenCallsChat:
    """A chat model that is shown broken calls as they were received, and as text only where its
    server refuses them.

    A request whose history holds broken calls and that is answered with HTTP 400 is sent once more
    with those calls as text. Where that works, the server is not asked the first way again; each
    reply to such a history says so in its `repairs`. It stands below the journal, for which the two
    requests are one call.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._as_text = False
        self.close = model.close

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def complete(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling
    ) -> Completion:
        """One reply. Raises `ModelError`; the first refusal, where the second form is refused
        too.
        """
        refusal = None
        if not (self._as_text and has_broken_calls(messages)):
            try:
                return await self._model.complete(messages, tools, sampling)
            except ServerError as error:
                if not (_refused_request(error) and has_broken_calls(messages)):
                    raise
                refusal = error
        try:
            reply = await self._model.complete(broken_calls_as_text(messages), tools, sampling)
        except ServerError as error:
            raise (refusal if refusal and _refused_request(error) else error) from error
        self._as_text = True
        return replace(reply, repairs=(*reply.repairs, SENT_AS_TEXT))


def has_broken_calls(messages: Messages) -> bool:
    """Whether any call in the history has arguments that are no JSON object."""
    return any(_broken(call) for message in messages for call in message.get("tool_calls") or ())


def broken_calls_as_text(messages: Messages) -> list[Message]:
    """The history with broken calls as the text that Hermes and Qwen models write, and their
    answers as `<tool_response>` of the user.

    Sound calls stay calls. The answers come after those of the sound calls, which must follow their
    message at once.
    """
    rewritten: list[Message] = []
    waiting: list[Message] = []
    broken_ids: set[str] = set()
    for message in messages:
        if message["role"] == "tool" and message.get("tool_call_id") in broken_ids:
            answer = f"<tool_response>\n{message['content']}\n</tool_response>"
            waiting.append({"role": "user", "content": answer})
            continue
        if message["role"] != "tool":
            rewritten += waiting
            waiting = []
        if message["role"] == "assistant" and message.get("tool_calls"):
            broken = [call for call in message["tool_calls"] if _broken(call)]
            broken_ids = {call["id"] for call in broken}
            if broken:
                # they stand in the content, behind what was said
                text = [message["content"]] if message.get("content") else []
                for call in broken:
                    function = call["function"]
                    text.append(rendered_call(function["name"], function["arguments"]))

                sound = [call for call in message["tool_calls"] if call not in broken]
                message = {**message, "content": "\n".join(text), "tool_calls": sound}
                if not sound:
                    del message["tool_calls"]
        rewritten.append(message)
    return rewritten + waiting


def _broken(call: Message) -> bool:
    return argument_error(call["function"]["arguments"]) is not None


def _refused_request(error: ServerError) -> bool:
    """Whether the server found the request itself wrong, for another reason than its length."""
    return error.status == 400 and not error.context_overflow
