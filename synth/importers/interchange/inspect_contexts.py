"""The contexts of an Inspect sample whose history was compacted: its messages hold all that was
said, and the events of its calls what the model was shown of that.
"""

from collections.abc import Callable, Iterator, Sequence

from synth.importers.records import Object, inside

COPIED = "copied"
"""Key of an answer that was given in a context before this one."""
ANSWER = "output.choices.0.message"
"""Where the event of a call has its answer."""


def seen_contexts(
    messages: list[Object], events: Sequence[Object], sent: Callable[[Object], list[Object]]
) -> list[list[Object]]:
    """The messages of each context, by what the last call before each compaction `sent`; all of
    them, where nothing was compacted, or no call tells what was.
    """
    said = {str(one["id"]) for one in messages if one.get("id")}
    intervals: list[list[Object]] = [[]]
    for event in events:
        if event.get("event") == "compaction":
            intervals.append([])
        elif event.get("event") == "model" and _answer_id(event) in said:
            intervals[-1].append(event)

    told = [calls for calls in intervals if calls]
    if len(told) < 2:
        return [messages]

    before: set[str] = set()
    found = []
    for calls in told:
        last = calls[-1]
        shown = [*sent(last), inside(last, ANSWER, dict)]
        found.append([*(_marked(one, before) for one in shown), *_behind(messages, last, told)])
        before |= {_answer_id(one) for one in calls}
    return found


def _answer_id(event: Object) -> str:
    return str(inside(event, f"{ANSWER}.id") or "")


def _marked(message: Object, before: set[str]) -> Object:
    is_copy = message.get("role") == "assistant" and str(message.get("id") or "") in before
    return message | {COPIED: True} if is_copy else message


def _behind(
    messages: Sequence[Object], last: Object, told: Sequence[list[Object]]
) -> Iterator[Object]:
    """What answered the last answer of a context; behind the very last one all that was said."""
    places = [at for at, one in enumerate(messages) if str(one.get("id")) == _answer_id(last)]
    for one in messages[places[-1] + 1 :] if places else ():
        if one.get("role") != "tool" and last is not told[-1][-1]:
            return
        yield one
