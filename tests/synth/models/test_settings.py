from typing import Any

import pytest
from pydantic import ValidationError

from synth.models.registry import open_model
from synth.models.settings import ModelSettings, Price, api_key
from synth.schemas.errors import ConfigError
from synth.schemas.trajectory import Usage


def test_the_key_is_openais_only_where_no_other_server_is_named() -> None:
    assert ModelSettings(model="m").key_variable() == "OPENAI_API_KEY"
    assert ModelSettings(model="m", base_url="http://127.0.0.1:1/v1").key_variable() is None
    assert (
        ModelSettings(
            model="m", base_url="http://127.0.0.1:1/v1", api_key_env="MY_KEY"
        ).key_variable()
        == "MY_KEY"
    )


def test_a_server_without_a_named_key_is_sent_a_dummy_even_where_openais_key_is_set() -> None:
    settings = ModelSettings(model="m", base_url="http://127.0.0.1:1/v1")
    assert api_key(settings, {"OPENAI_API_KEY": "sk-real"}) == "none"


def test_a_variable_that_is_not_set_is_named_in_one_line() -> None:
    with pytest.raises(ConfigError, match="MY_KEY is not set") as caught:
        api_key(ModelSettings(model="m", api_key_env="MY_KEY"), {"MY_KEY": "  "})
    assert "\n" not in str(caught.value)


def test_a_literal_key_is_refused_with_the_way_out_and_without_repeating_it() -> None:
    with pytest.raises(ConfigError, match="api_key_env") as caught:
        ModelSettings.model_validate({"model": "m", "api_key": "sk-secret-123"})
    assert "sk-secret-123" not in repr(caught.value)


def test_a_key_written_where_its_variable_belongs_is_refused_without_repeating_it() -> None:
    with pytest.raises(ConfigError, match="not the key itself") as caught:
        ModelSettings(model="m", api_key_env="sk-secret-123")
    assert "sk-secret-123" not in repr(caught.value)


def test_a_password_in_the_url_is_refused_without_repeating_it() -> None:
    with pytest.raises(ConfigError, match="api_key_env") as caught:
        ModelSettings(model="m", base_url="https://me:sk-secret-123@host/v1")
    assert "sk-secret-123" not in repr(caught.value)


def test_a_url_without_a_scheme_is_refused() -> None:
    with pytest.raises(ConfigError, match="http://"):
        ModelSettings(model="m", base_url="localhost:8000/v1")


def test_unknown_settings_are_errors_that_do_not_show_the_input() -> None:
    with pytest.raises(ValidationError) as caught:
        ModelSettings.model_validate({"model": "m", "apikey": "sk-secret-123"})
    assert "sk-secret-123" not in str(caught.value)


def test_what_synth_writes_into_the_request_cannot_be_overridden() -> None:
    with pytest.raises(ConfigError, match="messages, stream"):
        ModelSettings(model="m", extra_body={"stream": True, "messages": []})


def test_cached_tokens_cost_their_own_price() -> None:
    price = Price(input=2.0, cached=0.5, output=10.0)
    # 600 fresh x 2 + 400 cached x 0.5 + 100 x 10 = 1200 + 200 + 1000 = 2400 per million
    assert price.cost_usd(Usage(1000, 100, 400)) == pytest.approx(0.0024)


def test_cached_tokens_cost_as_much_as_others_where_no_price_is_given_for_them() -> None:
    assert Price(input=2.0, output=10.0).cost_usd(Usage(1000, 0, 400)) == pytest.approx(0.002)


def test_sampling_holds_what_determines_replies_and_nothing_else() -> None:
    settings = ModelSettings(
        model="m", temperature=0.7, stop=("END",), extra_body={"top_k": 5}, timeout_s=1
    )
    sampling = settings.sampling()
    assert (sampling.temperature, sampling.stop, sampling.extra, sampling.top_p) == (
        0.7,
        ("END",),
        {"top_k": 5},
        None,
    )


@pytest.mark.parametrize(
    "key",
    [
        "sk_live_51aBcDeFgHiJkLmNoP",
        "hf_aBcDeFgH1234567890",
        "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6",
        "AIzaSyA1b2c3d4e5f6g7h8",
    ],
)
def test_a_key_that_could_be_a_variables_name_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ConfigError, match="not the key itself") as caught:
        ModelSettings(model="m", api_key_env=key)
    assert key not in repr(caught.value)


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "my_key", "AZURE_OPENAI_API_KEY_EASTUS2_2024", "KEY2", "team_key_prod"],
)
def test_names_of_variables_are_taken(name: str) -> None:
    assert ModelSettings(model="m", api_key_env=name).key_variable() == name


@pytest.mark.parametrize(
    "key",
    [
        "sk-a b-1234567890",
        "sk-ümlaut-1234",
        "sk-line\nbreak-1234",
        "sk-tab\t1234",
        "sk-\x7f1234567",
        '"sk-quoted"',
    ],
)
def test_a_key_that_no_header_can_carry_is_refused_at_the_start_without_repeating_it(
    key: str,
) -> None:
    with pytest.raises(
        ConfigError,
        match="MY_KEY holds white space, a quote or a character outside printable ASCII",
    ) as caught:
        api_key(ModelSettings(model="m", api_key_env="MY_KEY"), {"MY_KEY": key})
    assert key not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"api_key": "x"}, "api_key"),
        ({"extra_headers": {"Authorization": "x"}}, "extra_headers.Authorization"),
        ({"headers": [{"X-Api-Key": "x"}]}, r"headers\[0\].X-Api-Key"),
        ({"user": "sk-proj-abcdef1234567890"}, "user"),
        ({"a": ["Bearer abc"]}, r"a\[0\]"),
        ({"openai_api_key": ""}, "openai_api_key"),
    ],
)
def test_a_key_in_the_request_body_is_refused_with_its_place(
    body: dict[str, Any], place: str
) -> None:
    with pytest.raises(ConfigError, match=rf"^extra_body: {place} holds a key") as caught:
        ModelSettings(model="m", extra_body=body)
    assert "sk-proj" not in repr(caught.value)


def test_settings_of_samplers_are_no_keys() -> None:
    body = {
        "top_k": 5,
        "stop_token_ids": [1],
        "chat_template_kwargs": {"enable_thinking": False},
        "guided_regex": r"[a-z]{20}\d+",
    }
    assert ModelSettings(
        model="m",
        extra_body=body | {"logit_bias": {"12": 1}, "eos_token": "</s>", "user": "run-2024-05"},
    ).extra_body


@pytest.mark.parametrize("value", [float("nan"), 2**70, object()])
def test_what_cannot_be_sent_as_json_is_refused(value: Any) -> None:
    if isinstance(value, float):
        with pytest.raises(ValidationError):
            ModelSettings(model="m", temperature=value)
    elif isinstance(value, int):
        with pytest.raises(ValidationError):
            ModelSettings(model="m", seed=value)
    else:
        with pytest.raises(ConfigError, match="cannot be sent as JSON"):
            ModelSettings(model="m", extra_body={"a": value})


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:99999/v1", "Port out of range 0-65535"),
        ("http://127.0.0.1:abc/v1", "Port could not be cast"),
        ("http://127.0.0.1:0/v1", "is no URL"),
        ("http://[::1/v1", "Invalid IPv6 URL"),
        ("http://:8000/v1", "is no URL"),
        ("http://a b/v1", "is no URL"),
        ("http://h\u00f6st/v1", "is no URL"),
        ("ftp://host/v1", "is no URL"),
        ("", "is no URL"),
        ("https://host/v1?api_key=abc", "it ends with its path"),
        ("https://host/sk-proj-abcdef1234567890/v1", "it ends with its path"),
    ],
)
def test_a_url_that_cannot_be_asked_is_one_line(url: str, why: str) -> None:
    with pytest.raises(ConfigError, match=f"^base_url: .*{why}") as caught:
        ModelSettings(model="m", base_url=url)
    assert "\n" not in str(caught.value)
    assert "sk-proj" not in str(caught.value)


def test_several_servers_are_a_list_each_named_once() -> None:
    urls = ["http://a:8000/v1/", "http://b:8000/v1"]
    assert ModelSettings(engine="vllm", base_url=urls, model="m").base_urls == (
        "http://a:8000/v1",
        "http://b:8000/v1",
    )
    assert ModelSettings(base_url="http://a/v1/", model="m").base_urls == ("http://a/v1",)
    assert ModelSettings(model="m").base_urls == ()
    for repeated in ([], ["http://a/v1", "http://a/v1/"]):
        with pytest.raises(
            ConfigError, match="a list names at least one server, and each only once"
        ):
            ModelSettings(engine="vllm", base_url=repeated, model="m")
    for wrong in (5, [5], {"a": 1}):
        with pytest.raises(
            ConfigError,
            match=r"base_url: it is the address of a server, such as .*, or a list of such "
            "addresses",
        ):
            ModelSettings.model_validate({"engine": "vllm", "base_url": wrong, "model": "m"})
    with pytest.raises(ConfigError, match="'nonsense' is no URL"):
        ModelSettings(engine="vllm", base_url=["http://a/v1", "nonsense"], model="m")


@pytest.mark.parametrize("name", ["token_ids", "logprobs"])
def test_what_an_engine_does_not_ask_for_is_refused_and_not_ignored(name: str) -> None:
    with pytest.raises(
        ConfigError, match=f"{name}: engine openai does not ask for it; choose `engine: vllm`"
    ):
        ModelSettings.model_validate({"model": "m", "base_url": "http://a/v1", name: True})
    assert (
        ModelSettings.model_validate(
            {"engine": "vllm", "model": "m", "base_url": "http://a/v1", name: True}
        ).engine
        == "vllm"
    )


def test_several_servers_need_the_engine_that_can_ask_them() -> None:
    with pytest.raises(
        ConfigError, match="engine openai asks one server; for several choose `engine: vllm`"
    ):
        open_model(ModelSettings(base_url=["http://a/v1", "http://b/v1"], model="m"))
