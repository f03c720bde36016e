"""The seed of the rounds, and the table of what they came to, printed at the end."""

import os
from random import Random

import pytest

from benchmarks.machine import machine
from tests.chaos.faults_table import FaultsTable

SEED = os.environ.get("SYNTH_CHAOS_SEED", "1")
_TABLE = pytest.StashKey[FaultsTable]()


def pytest_configure(config: pytest.Config) -> None:
    """One table for the session."""
    config.stash[_TABLE] = FaultsTable()


@pytest.fixture
def table(request: pytest.FixtureRequest) -> FaultsTable:
    """Where a test notes its rounds."""
    return request.config.stash[_TABLE]


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Random:
    """The dice of one test: the same for the same SYNTH_CHAOS_SEED."""
    return Random(f"{SEED} {request.node.name}")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The table, where there is anything in it."""
    lines = config.stash[_TABLE].lines()
    if lines:
        terminalreporter.write_line(f"\n{machine()} SYNTH_CHAOS_SEED={SEED}\n")
        for line in lines:
            terminalreporter.write_line(line)
