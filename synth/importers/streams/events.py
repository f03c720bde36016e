"""Events of OpenHands into a conversation: those of its server, and those of its SDK."""

from collections.abc import Sequence
from typing import Any

from synth.importers.chats.blocks import said
from synth.importers.chats.tool_parts import as_text
from synth.importers.chats.tools import tools_of
from synth.importers.conversation import ConversationBuilder, joined, tool_call
from synth.importers.records import Object, inside
from synth.importers.streams.condensed import condensed, of_event
from synth.importers.streams.event_facts import EventFacts
from synth.importers.streams.event_parts import called, observed, sdk_call, thoughts, words
from synth.importers.traces.model_call import used

_ANSWERS = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")
_SILENT = ("change_agent_state", "recall", "null", "pause", "resume", "condensation_request")


def read_events(chat: ConversationBuilder, events: Sequence[Any]) -> EventFacts:
    """Adds the events to a conversation. Raises `ValueError` for one that cannot be read."""
    reader = _EventReader(chat)
    for place, event in enumerate(events):
        if not isinstance(event, dict):
            raise ValueError(f"event {place} is {type(event).__name__}, no object")
        if "kind" in event and "action_id" not in event.get("args", {}):
            reader.of_sdk(event)
        else:
            reader.of_server(event)
        reader.name(event)
    reader.end()
    return reader.told


class _EventReader:
    """Holds the answer under way: actions with one response of the model belong to it."""

    def __init__(self, chat: ConversationBuilder) -> None:
        self.chat, self.told = chat, EventFacts()
        self._answer: Object | None = None
        self._response: Any = None
        self._named = 0
        self._outer: list[list[Object]] = []
        self._calls: dict[Any, Any] = {}
        """The id of the call that each action is."""

    def _act(self, response: Any, content: str | None, thought: str | None) -> Object:
        """The answer that an action belongs to."""
        if self._answer is None or response is None or response != self._response:
            self._answer = self.chat.answer(content, thought=thought)
            self._response = response
        return self._answer

    def name(self, event: Object) -> None:
        """Notes on what was added which event it was."""
        for message in self.chat.messages[self._named :]:
            of_event(message, event)
        self._named = len(self.chat.messages)

    def _condense(self, event: Object) -> None:
        """What comes next sees another context."""
        self._end()
        seen = condensed(self.chat.messages, event)
        if seen is not None:
            (self.told.beside if self._outer else self.told.before).append(self.chat.messages)
            self._go_on_with(seen)

    def _go_on_with(self, messages: list[Object]) -> None:
        self.chat.messages, self._named = messages, len(messages)

    def _hand_over(self, event: Object, task: Any) -> None:
        """What comes next is another agent's, up to its answer."""
        self.name(event)
        self._end()
        self._outer.append(self.chat.messages)
        self._go_on_with([])
        self.chat.say("user", as_text(task))

    def _take_back(self) -> None:
        self.told.beside.append(self.chat.messages)
        self._go_on_with(self._outer.pop())

    def end(self) -> None:
        """Whoever was at work when the log ends, the run is the outermost agent's."""
        while self._outer:
            self._take_back()

    def of_sdk(self, event: Object) -> None:
        """Takes an event of the SDK."""
        kind = event["kind"]
        if kind == "SystemPromptEvent":
            self.chat.say("system", words(event.get("system_prompt")))
            self.told.tools = list(tools_of(event.get("tools") or ()))
        elif kind == "MessageEvent":
            self._message(event)
        elif kind == "ActionEvent":
            told = words(event.get("thought")) or None
            thought = event.get("reasoning_content") or thoughts(event.get("thinking_blocks"))
            answer = self._act(event.get("llm_response_id"), told, thought)
            call_id, name, arguments = sdk_call(event)
            answer["tool_calls"].append(tool_call(call_id, name, arguments))
            self._calls[event.get("id")] = call_id
            of_event(answer, event, call_id)
        elif kind == "Condensation":
            self._condense(event)
        elif kind in _ANSWERS:
            self._end()
            told = event.get("observation", event.get("error", event.get("rejection_reason")))
            failed = kind != "ObservationEvent" or inside(told, "is_error") is True
            call_id = event.get("tool_call_id") or self._calls.get(event.get("action_id"))
            self.chat.result(observed(told), call_id, name=event.get("tool_name"), error=failed)
        elif kind == "ConversationStateUpdateEvent" and event.get("key") == "execution_status":
            self.told.state = str(event.get("value"))

    def _message(self, event: Object) -> None:
        self._end()
        message = event.get("llm_message") or {"role": event.get("source"), "content": ""}
        read = said(message if "role" in message else {"role": event.get("source")} | message)
        if read.role == "assistant":
            self.chat.answer(read.text, thought=joined(*read.thoughts), calls=read.calls)
        else:
            self.chat.say(read.role, read.text)

    def of_server(self, event: Object) -> None:
        """Takes an event of the server."""
        action, observed = event.get("action"), event.get("observation")
        args: Object = event.get("args") or {}
        if action is None and observed is None:
            return
        if action == "system":
            self.chat.say("system", str(args.get("content") or event.get("message") or ""))
            self.told.tools = list(tools_of(args.get("tools") or ()))
        elif action == "message" and event.get("source") != "agent":
            self._end()
            self.chat.say("user", str(args.get("content") or event.get("message") or ""))
        elif action == "condensation":
            self._condense(event)
        elif action is not None and action not in _SILENT:
            self._action(event, str(action), args)
            if action == "delegate":
                given = args.get("inputs") or {}
                self._hand_over(event, given.get("task", given))
        elif observed == "delegate" and self._outer:
            self._end()
            self._take_back()
            self._observation(event)
        elif observed is not None and observed not in ("agent_state_changed", "null", "recall"):
            self._end()
            self._observation(event)
        elif observed == "agent_state_changed":
            self.told.state = str(inside(event, "extras.agent_state") or "") or None

    def _action(self, event: Object, action: str, args: Object) -> None:
        """An action of the agent, as the model called it where the response is there."""
        meta = event.get("tool_call_metadata") or {}
        message = inside(meta, "model_response.choices.0.message", dict)
        self.told.model = self.told.model or inside(meta, "model_response.model", str)
        told = (message or {}).get("content") or args.get("thought") or None
        told = None if told is None else as_text(told) or None
        if action == "message":
            self._end()
            self.chat.answer(str(args.get("content") or event.get("message") or ""))
            return

        response = inside(meta, "model_response.id") or None
        thought = (message or {}).get("reasoning_content")
        answer = self._act(response, told, thought if isinstance(thought, str) else None)
        usage = used(inside(meta, "model_response.usage", dict))
        if usage is not None:
            answer["note"]["usage"] = usage

        call_id = meta.get("tool_call_id") or f"event_{event.get('id')}"
        name = meta.get("function_name") or action
        answer["tool_calls"].append(tool_call(call_id, name, called(message, call_id, args)))
        self._calls[event.get("id")] = call_id
        of_event(answer, event, call_id)

    def _observation(self, event: Object) -> None:
        meta = event.get("tool_call_metadata") or {}
        call_id = meta.get("tool_call_id") or self._calls.get(event.get("cause"))
        content = event.get("content", event.get("message"))
        failed = event.get("observation") == "error"
        if event.get("source") == "user" and call_id is None:
            self.chat.say("user", as_text(content))
        elif call_id is None:
            self.chat.harness(as_text(content))
        else:
            self.chat.result(as_text(content), call_id, error=failed)

    def _end(self) -> None:
        self._answer, self._response = None, None
