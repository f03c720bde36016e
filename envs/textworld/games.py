"""Where compiled games lie: made once by a worker process, kept under the state folder by what
determines them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from textworld.generator.game import Game

from synth.envs.textworld.config import TextWorldConfig
from synth.ledger.storage.journal import state_folder
from synth.schemas import ConfigError, SynthError, content_hash

GAME, LOGIC = "game.z8", "game.json"
RECIPE = 2
"""To be raised with every change to what the worker makes of a seed."""
_WORKER = """
import glob
as_they_lie = glob.glob
glob.glob = lambda *given, **named: sorted(as_they_lie(*given, **named))
from synth.envs.textworld.generation import main; main()
"""
"""TextWorld reads its grammars in the order in which the disk lists them: another disk would make
other games of a seed.
"""
_ONE_AT_A_TIME = Lock()


class Order(msgspec.Struct, frozen=True):
    """One game to be made, and the folder that it shall lie in."""

    settings: Mapping[str, Any]
    seed: int
    folder: str


class MadeGame(msgspec.Struct, frozen=True):
    """A game that lies on disk: its compiled file, its logic (shared, never changed), and the hash
    of that logic.
    """

    path: Path
    game: Any
    digest: str


def made_games(config: TextWorldConfig, seeds: Sequence[int]) -> list[MadeGame]:
    """The games of these seeds, those that are missing made first. Raises `SynthError` where the
    generator fails.
    """

    folders = [_folder(config, seed) for seed in seeds]
    with _ONE_AT_A_TIME:
        missing = {
            folder: seed
            for folder, seed in zip(folders, seeds, strict=True)
            if not (folder / GAME).exists()
        }
        if missing:
            _make(config, missing)
        return [_loaded(folder) for folder in folders]


def _folder(config: TextWorldConfig, seed: int) -> Path:
    made_by = {"recipe": RECIPE, "textworld": version("textworld")}
    return state_folder() / "textworld" / content_hash([made_by, config.of_the_game(), seed])


def _worker_environment() -> dict[str, str]:
    """What the generator and its compiler need, and nothing else: no key of ours reaches a world's
    process.
    """

    handed_on = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    return {
        **handed_on,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONHASHSEED": "0",
    }


def _make(config: TextWorldConfig, missing: Mapping[Path, int]) -> None:
    """Makes games in one worker, which gives each its place once it is whole: others see all of it
    or nothing.
    """

    root = state_folder() / "textworld"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{root}: {error.strerror}; set SYNTH_STATE_DIR to a folder that can be written to"
        ) from error

    worker = subprocess.run(
        [sys.executable, "-P", "-c", _WORKER],
        input=b"\n".join(
            msgspec.json.encode(Order(config.of_the_game(), seed, str(folder)))
            for folder, seed in missing.items()
        ),
        capture_output=True,
        env=_worker_environment(),
        check=False,
    )
    if worker.returncode != 0:
        last = (
            worker.stderr.decode(errors="replace").strip().splitlines()
            or [f"exit code {worker.returncode}"]
        )[-1]
        raise SynthError(
            f"textworld: a game could not be made: {last}; try fewer objects or a shorter quest"
        )


@lru_cache(maxsize=512)
def _loaded(folder: Path) -> MadeGame:
    content = json.loads((folder / LOGIC).read_text(encoding="utf-8"))
    content["KB"]["text_grammars_path"] = (
        ""  # where TextWorld lies on this machine is no part of the game
    )

    return MadeGame(folder / GAME, Game.deserialize(content), content_hash(content))
