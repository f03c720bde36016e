import pytest
from pydantic import ValidationError

from schemas.errors import ConfigError
from schemas.trajectory import Usage
from synth.models.settings import ModelSettings, Price, api_key


def test_the_key_is_openais_only_where_no_other_server_is_named() -> None:
    assert ModelSettings(model="m").key_variable() == "OPENAI_API_KEY"
    assert ModelSettings(model="m", base_url="http://127.0.0.1:1/v1").key_variable() is None
    assert ModelSettings(model="m", base_url="http://127.0.0.1:1/v1", api_key_env="MY_KEY").key_variable() == "MY_KEY"


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
    settings = ModelSettings(model="m", temperature=0.7, stop=("END",), extra_body={"top_k": 5}, timeout_s=1)
    sampling = settings.sampling()
    assert (sampling.temperature, sampling.stop, sampling.extra, sampling.top_p) == (0.7, ("END",), {"top_k": 5}, None)
