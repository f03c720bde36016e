"""Records of every shape, with any part of them replaced or gone: read or refused in one line, and
what comes in can be read back.
"""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.engine.progress import progress_for
from synth.importers.commit import import_into
from synth.ledger.ledger import StoredLedger
from tests.synth.importers.research_records import call
from tests.synth.importers.test_research_formats import attempt_with_index, blame, label
from tests.synth.importers.test_search_trees import tree
from tests.synth.importers.test_tau2 import MESSAGES, TASK, document, simulation

EPISODE = {
    "traj": "### Instruction:\nWhy?\n\n### Response:\nThought: a\nAction: finish[b]\n"
    "Observation: c",
    "reward": True,
    "em": True,
    "gt": "b",
}
SEEDS: list[Any] = [
    [attempt_with_index(1), attempt_with_index(2)],
    [label(1, 3)],
    document(simulation(), simulation(trial=1)),
    [
        {
            "task_id": "t1",
            "task": TASK,
            "run_info": {"termination_reason": "user_stop"},
            "reward_info": {"reward": 1.0},
            "messages": MESSAGES,
        }
    ],
    blame(),
    {
        "1": EPISODE,
        "2": {
            **EPISODE,
            "traj": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "Action: finish[x]"},
            ],
        },
    },
    tree(call("find", 0, call("Finish", 4)), call("find", 12)),
    [
        {
            "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
            "reward": 1,
            "tools": [],
        }
    ],
    {  # AutoGen: a result
        "messages": [
            {"type": "TextMessage", "source": "user", "content": "q"},
            {
                "type": "ToolCallRequestEvent",
                "source": "bot",
                "models_usage": {"prompt_tokens": 1, "completion_tokens": 1},
                "content": [{"id": "c", "name": "look", "arguments": "{}"}],
            },
            {
                "type": "ToolCallExecutionEvent",
                "source": "bot",
                "content": [{"call_id": "c", "name": "look", "content": "x", "is_error": False}],
            },
            {"type": "TextMessage", "source": "bot", "models_usage": {}, "content": "a"},
        ],
        "stop_reason": "Maximum number of messages",
    },
    {  # AutoGen: a state
        "agent_states": {
            "bot": {
                "agent_state": {
                    "llm_context": {
                        "messages": [
                            {"type": "UserMessage", "content": "q", "source": "user"},
                            {"type": "AssistantMessage", "content": "a", "source": "bot"},
                        ]
                    }
                }
            }
        }
    },
    [  # the Vercel AI SDK
        {
            "id": "1",
            "messages": [
                {"role": "user", "parts": [{"type": "text", "text": "q"}]},
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "step-start"},
                        {
                            "type": "tool-look",
                            "toolCallId": "c",
                            "state": "output-available",
                            "input": {"a": 1},
                            "output": "x",
                        },
                        {"type": "text", "text": "a"},
                    ],
                },
            ],
        }
    ],
    [  # messages as LangChain writes them
        {"type": "human", "data": {"content": "q"}},
        {
            "type": "ai",
            "data": {"content": "", "tool_calls": [{"name": "look", "args": {}, "id": "c"}]},
        },
        {"type": "tool", "data": {"content": "x", "tool_call_id": "c", "status": "error"}},
        {"type": "ai", "data": {"content": "a"}},
    ],
]
STRANGE = [
    None,
    True,
    0,
    -1,
    1.5,
    2**63,
    2**70,
    1e308,
    "",
    "x",
    "\ud800",
    [],
    {},
    [1],
    [None],
    {"a": 1},
    {"role": "assistant"},
]


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [
        found for key, item in inside for found in [(*place, key), *places(item, (*place, key))]
    ]


@pytest.mark.slow
@settings(max_examples=150)
@given(st.data())
def test_a_record_of_another_shape_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    value = copy.deepcopy(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(places(value) or [()]))
        holder = value
        for key in place[:-1]:
            holder = holder[key]
        if place and data.draw(st.booleans()):
            holder[place[-1]] = copy.deepcopy(data.draw(st.sampled_from(STRANGE)))
        elif place:
            del holder[place[-1]]
    folder = tmp_path_factory.mktemp("mutated")
    (folder / "x.json").write_text(json.dumps(value))
    tally = import_into(str(folder / "run"), [folder / "x.json"], "auto", progress_for(quiet=True))
    came_in = tally.total(["trajectories"])
    assert came_in or tally.reasons
    assert all(r.reason and "\n" not in r.detail for r in tally.rejections)
    assert (
        len(list(StoredLedger(str(folder / "run")).trajectories())) if came_in else 0
    ) == came_in
