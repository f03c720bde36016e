"""`synth vllm install` makes vLLM's environment once, and engine vllm_local finds it."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from synth.cli.vllm import vllm
from synth.models.local.vllm_environment import (
    build_here,
    builds,
    carried_out,
    folder_of,
    install,
    installed,
)
from synth.models.servers.http_chat import flags, with_interpreter
from synth.models.settings import ModelSettings
from synth.schemas import ConfigError, SynthError

OF_THE_SMOKE_TEST = Path(__file__).parents[2] / "vllm" / "requirements.txt"


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


class Shell:
    """Notes commands, and makes what `venv` would; `fails` names a word whose command fails."""

    def __init__(self, fails: str = "") -> None:
        self.ran: list[str] = []
        self.fails = fails

    def __call__(self, command: Sequence[str]) -> None:
        self.ran.append(" ".join(command[1:]))
        if self.fails and self.fails in command:
            raise SynthError("no space left")
        if "venv" in command:
            python = Path(command[-1], "bin", "python")
            python.parent.mkdir(parents=True)
            python.symlink_to(sys.executable)


def test_the_cpu_build_is_that_of_the_smoke_test() -> None:
    lines = [line for line in OF_THE_SMOKE_TEST.read_text().splitlines() if line[:1] != "#"]
    assert list(builds()["cpu"].requirements) == lines


def test_an_environment_is_made_once_and_found_by_the_engine(cache_folder: Path) -> None:
    shell = Shell()
    assert installed() is None
    python = install(build_here(), command=shell)
    assert python.parent.parent.parent == cache_folder / "synth"
    assert shell.ran[0] == f"-m venv {python.parent.parent}"
    assert shell.ran[1].startswith("-m pip install -q --disable-pip-version-check vllm")
    made = len(shell.ran)
    assert install(command=shell) == python == installed()
    assert len(shell.ran) == made, "what is there is not made again"
    local = ModelSettings(engine="vllm_local", model="m")
    assert with_interpreter(local).python == str(python)
    own = ModelSettings(engine="vllm_local", model="m", python="/opt/vllm/bin/python")
    assert with_interpreter(own) is own


def test_a_server_has_the_flags_of_its_build_and_the_users_come_last() -> None:
    python = install("cpu", command=Shell())
    local = ModelSettings(
        engine="vllm_local", model="Qwen/Qwen3-8B", python=str(python), server_args=("--x=1",)
    )
    found = flags(local)
    assert "--no-enable-chunked-prefill" in found
    assert "--reasoning-parser=qwen3" in found
    assert found[-1] == "--x=1"
    other = local.model_copy(update={"python": sys.executable})
    assert "--no-enable-chunked-prefill" not in flags(other)


def test_packages_that_do_not_load_go_again() -> None:
    shell = Shell()
    install("cpu", command=shell)
    assert shell.ran[-1].endswith("uninstall -q -y torchvision torchaudio torchcodec")


def test_what_was_not_finished_is_no_environment_and_is_made_anew() -> None:
    with pytest.raises(SynthError, match="no space left"):
        install(build_here(), command=Shell(fails="install"))
    assert folder_of(build_here()).is_dir()
    assert installed() is None
    assert install(build_here(), command=Shell()) == installed()


def test_each_build_lies_in_a_folder_of_its_own() -> None:
    assert len({folder_of(build) for build in builds()}) == len(builds()) == 2


def test_an_unknown_build_and_a_failed_command_are_one_line() -> None:
    with pytest.raises(ConfigError, match="'tpu' is no build of vLLM; there are cpu, cuda"):
        install("tpu", command=Shell())
    code = "import sys; print('working'); sys.exit('ERROR: no such package')"
    with pytest.raises(SynthError, match=r"\.\.\.: ERROR: no such package$"):
        carried_out([sys.executable, "-c", code])
    assert CliRunner().invoke(vllm, ["install", "--for", "tpu"]).exit_code == 2
