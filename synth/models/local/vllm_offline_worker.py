"""vLLM's `LLM` behind lines of JSON: `python vllm_offline_worker.py MODEL FLAGS...`, with the
interpreter of vLLM's own environment; no server, no port.

A line in: `{"id", "path", "body"}`, the body of a request as vLLM's server takes it; a line out:
`{"id", "status", "body"}`. What has come while a batch was played is the next batch. Knows
/chat/completions (`LLM.chat`), /completions of one prompt in tokens (`LLM.generate`), /tokenize.
Ends when its input does.
"""

import json
import os
import queue
import sys
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

FROM_A_SERVER_ALONE = "needs a server (engine vllm or vllm_local): LLM.chat does not hold to it"
Body = dict[str, Any]
Request = dict[str, Any]
Lines = queue.SimpleQueue[Request | None]
REFUSED = (ValueError, TypeError, LookupError, RuntimeError, AttributeError)
"""What vLLM raises of a request, beside `VLLMClientError` where it has that; whatever else it
raises ends the process, which is started again.
"""
GATHER_S = 0.02
"""For so long a batch waits for a further line."""


def main(arguments: Sequence[str]) -> None:
    """Loads the model, says so by a line, and answers until its input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed goes to the log

    lines: Lines = queue.SimpleQueue()
    llm = loaded(arguments)
    threading.Thread(target=read_lines, args=(lines,), daemon=True).start()
    say(out, {"ready": True})

    while (batch := gathered(lines)) is not None:
        for answer in answers(llm, batch):
            say(out, answer)


def loaded(arguments: Sequence[str]) -> Any:
    """The model, under the flags that its server would take, without those of the server alone."""
    from vllm import LLM
    from vllm.engine.arg_utils import EngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = EngineArgs.add_cli_args(FlexibleArgumentParser())
    model, *flags = arguments
    return LLM.from_engine_args(
        EngineArgs.from_cli_args(parser.parse_args(["--model", model, *flags]))
    )


def read_lines(lines: Lines) -> None:
    """Puts each line of the input into a queue, and None at its end."""
    for line in sys.stdin.buffer:
        lines.put(json.loads(line))
    lines.put(None)


def gathered(lines: Lines) -> list[Request] | None:
    """All requests that have come, at least one; None at the end."""
    batch = list[Request]()
    one = lines.get()
    while one is not None:
        batch.append(one)
        try:
            one = lines.get(timeout=GATHER_S)
        except queue.Empty:
            return batch
    return None


def say(out: BinaryIO, answer: Body) -> None:
    """Writes one line."""
    out.write(json.dumps(answer).encode() + b"\n")
    out.flush()


def answers(llm: Any, batch: Sequence[Request]) -> Iterator[Body]:
    """An answer to each request; those that can be played together are."""
    groups = defaultdict[str, list[Request]](list)
    for one in batch:
        body = one["body"]
        alike = [one["path"], body.get("tools"), body.get("chat_template_kwargs")]
        groups[json.dumps([*alike, body.get("add_generation_prompt")])].append(one)

    for group in groups.values():
        play = PLAYED.get(group[0]["path"])
        if play is None:
            yield from (failed(one, 404, "no such path") for one in group)
        else:
            yield from played(llm, group, play)


def played(llm: Any, group: Sequence[Request], play: Any) -> Iterator[Body]:
    """The answers to a group; where the whole of it is refused, each by itself."""
    try:
        bodies = play(llm, [one["body"] for one in group])
    except (*REFUSED, client_error()) as error:
        if len(group) == 1:
            yield failed(group[0], 400, f"{error}")
        else:
            for one in group:
                yield from played(llm, [one], play)
        return
    for one, body in zip(group, bodies, strict=True):
        yield {"id": one["id"], "status": 200, "body": body}


def client_error() -> type[Exception]:
    """vLLM's own name for what is wrong with a request; older versions raise `ValueError`."""
    own = sys.modules.get("vllm.exceptions")
    return getattr(own, "VLLMClientError", ValueError)


def failed(one: Request, status: int, why: str) -> Body:
    """A refusal, as a server words it."""
    return {"id": one["id"], "status": status, "body": {"error": {"message": why}}}


def chats(llm: Any, bodies: Sequence[Body]) -> list[Body]:
    """Replies to chats that are offered the same tools."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    requests = [ChatCompletionRequest(**body) for body in bodies]
    for request in requests:
        if request.tool_choice not in (None, "none", "auto"):
            raise ValueError(f"tool_choice: {request.tool_choice!r} {FROM_A_SERVER_ALONE}")
    defaults = llm.model_config.get_diff_sampling_param()
    drawn = [
        request.to_sampling_params(request.max_completion_tokens or request.max_tokens, defaults)
        for request in requests
    ]
    found = llm.chat([body["messages"] for body in bodies], drawn, **rendering(bodies[0]))
    return [reply(body, one) for body, one in zip(bodies, found, strict=True)]


def rendering(body: Body) -> dict[str, Any]:
    """How all chats of a group are shown to the model."""
    return {
        "tools": body.get("tools"),
        "chat_template_kwargs": body.get("chat_template_kwargs"),
        "use_tqdm": False,
    }


def reply(body: Body, found: Any) -> Body:
    """A reply in the form of vLLM's server."""
    written = sum(len(one.token_ids) for one in found.outputs)
    usage: Body = {"prompt_tokens": len(found.prompt_token_ids), "completion_tokens": written}
    usage["prompt_tokens_details"] = {"cached_tokens": found.num_cached_tokens or 0}
    return {
        "id": f"offline-{uuid.uuid4().hex}",
        "model": body.get("model"),
        "prompt_token_ids": found.prompt_token_ids if body.get("return_token_ids") else None,
        "choices": [choice(body, one) for one in found.outputs],
        "usage": usage,
    }


def choice(body: Body, one: Any) -> Body:
    """One of the texts."""
    tokens, said = list(one.token_ids), {"role": "assistant", "content": one.text}
    probabilities = [
        {"token": str(token), "logprob": at[token].logprob}
        for token, at in zip(tokens, one.logprobs or (), strict=False)
    ]
    return {
        "index": one.index,
        "message": said,
        "finish_reason": one.finish_reason,
        "logprobs": {"content": probabilities} if body.get("logprobs") else None,
        "token_ids": tokens if body.get("return_token_ids") else None,
    }


def tokenized(llm: Any, bodies: Sequence[Body]) -> list[Body]:
    """The tokens of chats as the model reads them: those that `LLM.chat` itself makes."""
    from vllm import SamplingParams

    shown = rendering(bodies[0]) | {"add_generation_prompt": bodies[0]["add_generation_prompt"]}
    one_token = SamplingParams(max_tokens=1, temperature=0)
    found = llm.chat([body["messages"] for body in bodies], one_token, **shown)
    return [{"tokens": one.prompt_token_ids} for one in found]


def scored(llm: Any, bodies: Sequence[Body]) -> list[Body]:
    """The probability of every token of prompts in tokens."""
    from vllm import SamplingParams

    one_token = SamplingParams(max_tokens=1, temperature=0, prompt_logprobs=0)
    prompts = [{"prompt_token_ids": body["prompt"]} for body in bodies]
    found = llm.generate(prompts, one_token, use_tqdm=False)
    return [
        {
            "choices": [
                {
                    "finish_reason": one.outputs[0].finish_reason,
                    "prompt_logprobs": [
                        place and probabilities(place) for place in one.prompt_logprobs
                    ],
                }
            ]
        }
        for one in found
    ]


def probabilities(place: Any) -> Body:
    """By token: log-probability, rank, text."""
    return {
        str(token): {"logprob": at.logprob, "rank": at.rank, "decoded_token": at.decoded_token}
        for token, at in place.items()
    }


PLAYED = {"/chat/completions": chats, "/completions": scored, "/tokenize": tokenized}

if __name__ == "__main__":
    main(sys.argv[1:])
