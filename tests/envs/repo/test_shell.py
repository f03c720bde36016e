"""What one shell leaves to the next, without running one."""

from synth.envs.repo.terminal.shell import Shell, carried, first_variables


def told(cwd: str, **variables: str | None) -> bytes:
    held = {**first_variables(), "SHLVL": "1", "_": "/usr/bin/env", **variables}
    pairs = [f"{name}={value}" for name, value in held.items() if value is not None]
    return "\0".join([cwd, *pairs, ""]).encode()


def test_only_what_differs_is_carried() -> None:
    found = carried(Shell(), told("/repo/a", A="1\n2", HOME="/tmp"))
    assert found == Shell("/repo/a", {"A": "1\n2"})


def test_an_unset_variable_stays_unset() -> None:
    assert carried(Shell(), told("/repo", HOME=None)) == Shell("/repo", {"HOME": None})


def test_functions_are_not_carried() -> None:
    assert carried(Shell(), told("/repo", **{"BASH_FUNC_f%%": "() { :; }"})) == Shell()


def test_a_shell_that_told_nothing_leaves_all_as_it_was() -> None:
    before = Shell("/repo/x", {"A": "1"})
    assert carried(before, b"") == before


def test_too_many_variables_are_not_carried() -> None:
    before = Shell("/repo", {"A": "1"})
    assert carried(before, told("/repo/b", B="x" * 20_000)) == Shell("/repo/b", {"A": "1"})
