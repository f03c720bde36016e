import json

import pytest

from synth.models.servers.model_card import queue, weights_id
from synth.schemas.model import ModelError

METRICS = b"""# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 12.0
vllm:num_requests_running{engine="1",model_name="m"} 8.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="1",model_name="m"} 1e+00
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 77.0
"""


def cards(*data: dict[str, object]) -> bytes:
    return json.dumps({"object": "list", "data": list(data)}).encode()


def test_weights_are_known_by_what_the_server_has_loaded_not_by_the_name_it_is_served_under() -> (
    None
):
    assert weights_id(cards({"id": "m", "root": "org/weights-7"}), "m", "x") == "org/weights-7"
    assert (
        weights_id(
            cards({"id": "b", "root": "org/b"}, {"id": "m", "root": "lora/3", "parent": "b"}),
            "m",
            "x",
        )
        == "b+lora/3"
    )


def test_a_card_that_names_no_weights_gives_none() -> None:
    assert weights_id(cards({"id": "m"}), "m", "x") is None


def test_a_server_without_the_model_says_what_it_serves() -> None:
    with pytest.raises(
        ModelError,
        match=r"^x: it serves no model of that name, but a, b; mend `model` or base_url$",
    ) as caught:
        weights_id(cards({"id": "a"}, {"id": "b"}), "m", "x")
    assert not caught.value.retryable


@pytest.mark.parametrize("body", [b"", b"[]", b'{"data": [{"id": 5}]}', b"\xff"])
def test_a_list_of_models_that_is_none_may_be_asked_for_again(body: bytes) -> None:
    with pytest.raises(ModelError, match="its list of models is unusable") as caught:
        weights_id(body, "m", "x")
    assert caught.value.retryable


def test_the_queue_is_summed_over_engines() -> None:
    assert queue(METRICS) == (20.0, 4.0)
    assert queue(b"process_cpu_seconds_total 5\n") is None
