"""Every world that ships passes the suite."""

import asyncio
from importlib import import_module

import pytest

from synth.envs.registry import ENVS
from tests.envs.conformance.checks import conformance


@pytest.mark.slow
@pytest.mark.parametrize("name", ["storefront", "echo"])
def test_an_embedded_world_passes_every_check(name):
    module, _, attribute = ENVS[name].partition(":")
    findings = asyncio.run(
        conformance(getattr(import_module(module), attribute), {}, seed=7, tasks=20)
    )
    assert [finding for finding in findings if finding.passed is not True] == []
