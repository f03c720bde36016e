"""What a deployment sets of a work pool's template: image, volumes, environment; no key in clear,
nothing that the pool does not have.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from synth.flows.deployments.settings import in_words, job_variables, refuse_unfit
from synth.schemas.errors import ConfigError


@dataclass
class Pool:
    """As the server describes one whose runs start in containers."""

    name: str = "dock"
    type: str = "docker"
    base_job_template: dict[str, Any] = field(
        default_factory=lambda: {
            "variables": {
                "properties": {"image": {"type": "string"}, "env": {}, "volumes": {"default": []}}
            }
        }
    )


def test_values_are_yaml_and_an_environment_holds_text() -> None:
    given = job_variables(
        [
            "image=synth:1",
            'volumes=["/data:/data"]',
            "privileged=false",
            "env.WORKERS=4",
            "env.EMPTY=",
        ]
    )
    assert given == {
        "image": "synth:1",
        "volumes": ["/data:/data"],
        "privileged": False,
        "env": {"WORKERS": "4", "EMPTY": ""},
    }
    assert (
        in_words(given)
        == 'image=synth:1, volumes=["/data:/data"], privileged=false, env.WORKERS, env.EMPTY'
    )


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("env.OPENAI_API_KEY=abc", "env.OPENAI_API_KEY"),
        ("env.AWS_SECRET_ACCESS_KEY=abc", "env.AWS_SECRET_ACCESS_KEY"),
        ("env.PREFECT_API_AUTH_STRING=a:b", "env.PREFECT_API_AUTH_STRING"),
        ("env={HF_TOKEN: abc}", "env.HF_TOKEN"),
        ("env.LABEL=sk-0123456789abcdef", "env.LABEL"),
        ("registry_credentials={password: abc}", "registry_credentials.password"),
        (
            "env.HF_TOKEN={{ $HF_TOKEN }}",
            "env.HF_TOKEN",
        ),  # no worker fills this in: the run would be given these very letters
    ],
)
def test_a_key_in_clear_is_refused_and_not_repeated(written: str, place: str) -> None:
    with pytest.raises(ConfigError, match="secret block") as refused:
        job_variables([written])
    assert f"--job-variable {place}: " in str(refused.value)
    assert "abc" not in str(refused.value)


def test_a_secret_block_may_stand_for_a_key() -> None:
    reference = "{{ prefect.blocks.secret.openai }}"
    assert job_variables([f"env.OPENAI_API_KEY={reference}"]) == {
        "env": {"OPENAI_API_KEY": reference}
    }


@pytest.mark.parametrize("written", ["image", "=synth:1", "volumes=[", "image.tag=1"])
def test_what_is_no_variable_is_refused_by_the_name_of_its_option(written: str) -> None:
    with pytest.raises(ConfigError, match=r"^--job-variable "):
        job_variables(["image=synth:1", written])


def test_runs_in_containers_need_an_image_with_synth() -> None:
    with pytest.raises(ConfigError, match=r"--work-pool dock: .*--job-variable image=NAME:TAG"):
        refuse_unfit(Pool(), {})
    refuse_unfit(Pool(), {"image": "synth:1"})
    whose_default = Pool(
        base_job_template={"variables": {"properties": {"image": {"default": "synth:1"}}}}
    )
    refuse_unfit(whose_default, {})
    processes = Pool("synth", "process", {"variables": {"properties": {"working_dir": {}}}})
    refuse_unfit(processes, {})


def test_a_variable_that_the_pool_does_not_have_is_named_with_those_it_has() -> None:
    with pytest.raises(
        ConfigError,
        match=r"--job-variable imag: .* \(docker\) has no such variable; "
        "it has env, image, volumes",
    ):
        refuse_unfit(Pool(), {"imag": "synth:1"})
