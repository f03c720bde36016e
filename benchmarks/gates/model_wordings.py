"""`python -m benchmarks.gates.model_wordings [REPLIES] [WORLD ...]`: of the tasks whose goals rules
wrote, how many verify when a language model words the goals.

`--prompts FILE` writes what a model is asked; a person, or any model, answers each, and the replies
(`data/model_wordings.yaml`: world, goal, and the reply to each try) are replayed by a server on
loopback in OpenAI's form, so that client, reading and tries are those of the role `writer`.
Baseline: a gate that accepts every wording has 100 %, one that accepts none 0.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.gates.table import Rate, table
from synth.engine.asking import UnreadableError, chat, prompt, response_form
from synth.flows.parts import world
from synth.models.admission import AdmittedChat
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.schemas import ChatModel, Draft, NoGoal, Sampling, Task, Window
from synth.synthesizers.reverse.deriving import exploration_tasks
from synth.synthesizers.reverse.exploration import Experience
from synth.synthesizers.reverse.ground import Ground
from synth.synthesizers.reverse.role_writer import TEMPERATURE, GoalWords, read_words

REPLIES = Path(__file__).parent / "data" / "model_wordings.yaml"
EXPLORATIONS = {"storefront": range(14), "sql": range(10), "textworld": range(5)}
"""Seeds of the explorations whose goals were worded first."""
LATER = {"sql": range(100, 120), "textworld": range(100, 106)}
"""And of those that were worded when the readers had been mended on these."""


class Reply(msgspec.Struct, frozen=True):
    """What a model answered to a goal of the rules, try by try."""

    world: str
    goal: str
    replies: Sequence[Sequence[str]]
    """The lines of each reply."""


def recorded(path: Path) -> list[Reply]:
    """The replies of a file."""
    return msgspec.yaml.decode(path.read_bytes(), type=list[Reply])


@contextmanager
def replaying(replies: Mapping[str, Sequence[Sequence[str]]]) -> Iterator[str]:
    """The URL of a server that answers a goal with its replies, one a try."""

    class Handler(BaseHTTPRequestHandler):
        """Answers /v1/chat/completions."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            goal = next(one["content"] for one in body["messages"] if one["role"] == "user")
            tried = sum(one["role"] == "assistant" for one in body["messages"])
            known = replies[goal]
            content = json.dumps({"lines": list(known[min(tried, len(known) - 1)])})
            choice = {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": content},
            }
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = json.dumps(
                {"id": "1", "model": "recorded", "choices": [choice], "usage": usage}
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.encode())))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


class Written:
    """What became of the goals that a model was asked to word."""

    def __init__(self) -> None:
        self.refused: dict[str, list[str]] = {}
        """A goal, and why each try at it was refused."""
        self.accepted: dict[str, str] = {}
        """The model's words that were accepted, and the goal that they are for."""


async def worded(
    model: ChatModel, draft: Draft, reword: Any, written: Written, tries: int
) -> Draft | NoGoal:
    """The draft in the model's words, as the role asks for them: again, told what was wrong."""
    messages = chat(prompt("writer/words"), draft.goal)
    form = response_form("goal", GoalWords)
    drawn = Sampling(temperature=TEMPERATURE, extra={"response_format": form})

    for _ in range(tries):
        completion = await model.complete(tuple(messages), (), drawn)
        try:
            found: Draft = read_words(completion, draft, reword)
            written.accepted[found.worded] = draft.goal
            return found
        except UnreadableError as error:
            written.refused.setdefault(draft.goal, []).append(str(error))
            again = f"That cannot be used: {error}. Answer again, in the form asked for and with "
            messages += [
                {"role": "assistant", "content": completion.content or "(nothing)"},
                {"role": "user", "content": f"{again}nothing else."},
            ]

    return NoGoal("writer_unreadable")


async def played(
    source: str, model: ChatModel | None, asked: frozenset[str], written: Written, tries: int
) -> list[Task]:
    """The tasks of the explorations, with those goals worded that the model was asked about."""
    entry, experience, tasks = world(source), Experience(), list[Task]()

    async def write(window: Window) -> Draft | NoGoal:
        draft = NoGoal("no_rules") if entry.write_goal is None else entry.write_goal(window)
        if isinstance(draft, NoGoal) or model is None or draft.goal not in asked:
            return draft

        return await worded(model, draft, entry.reword, written, tries)

    for seed in (*EXPLORATIONS[source], *LATER.get(source, ())):
        config = {} if entry.exploring is None else entry.exploring({}, seed)
        ground = Ground(entry, source, config, seed, None, None, f"x/{seed}", 4, True, write)
        tasks += (await exploration_tasks(ground, 25, 12, 2, experience))[0]

    return tasks


async def measured(
    source: str, replies: Sequence[Reply], tries: int, *, tell: bool = False
) -> list[Rate]:
    """Of the goals that a model was asked about, those whose tasks verify in its words."""
    given = {one.goal: one.replies for one in replies if one.world == source}
    written = Written()

    with replaying(given) as url:
        model = open_model(ModelSettings(engine="openai", model="recorded", base_url=url))
        run = partial(played, source, asked=frozenset(given), written=written, tries=tries)
        tasks = await run(model)
        if isinstance(model, AdmittedChat):
            await model.close()

    verified = {
        written.accepted[task.goal]: task for task in tasks if task.goal in written.accepted
    }
    read = sum(map(_read, verified.values()))
    if tell:
        for goal, why in written.refused.items():
            print(f"  {source}: {goal!r}: refused: {'; then '.join(why)}", flush=True)
        for goal in {*written.accepted.values()} - {*verified}:
            print(f"  {source}: {goal!r}: accepted, its task does not verify", flush=True)

    gate = f"a language model words goals, {tries} {'try' if tries == 1 else 'tries'}"
    return [
        Rate(source, gate, "verify, of those by rules", len(verified), len(given), ">= 50 %"),
        Rate(source, gate, "of these the expert solves from the wording", read, len(verified), ""),
    ]


def _read(task: Task) -> bool:
    """Whether T8 was passed from the model's words."""
    t8 = (task.difficulty or {}).get("tests", {}).get("T8", {})
    return str(t8.get("read")) == "in the model's words"


def rows() -> list[Rate]:
    """All worlds, by the replies that are here."""
    replies = recorded(REPLIES)
    return [rate for source in EXPLORATIONS for rate in asyncio.run(measured(source, replies, 1))]


async def prompts() -> list[dict[str, Any]]:
    """The chats that ask a model for words."""
    return [
        {"world": source, "goal": task.goal, "messages": chat(prompt("writer/words"), task.goal)}
        for source in EXPLORATIONS
        for task in await played(source, None, frozenset(), Written(), 1)
    ]


def main(arguments: Sequence[str]) -> None:
    """Writes the prompts, or prints the table and what was refused."""
    if arguments[:1] == ["--prompts"]:
        found = asyncio.run(prompts())
        Path(arguments[1]).write_text(json.dumps(found, indent=1))
        print(f"{len(found)} prompts in {arguments[1]}")
        return

    files = [one for one in arguments if one not in EXPLORATIONS]
    replies = recorded(Path(files[0]) if files else REPLIES)
    sources = [one for one in arguments if one in EXPLORATIONS] or [*EXPLORATIONS]
    rates = [
        rate for source in sources for rate in asyncio.run(measured(source, replies, 1, tell=True))
    ]
    print("\n".join(table(rates)))


if __name__ == "__main__":
    main(sys.argv[1:])
