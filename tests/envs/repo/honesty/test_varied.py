"""Tests with other inputs."""

from synth.envs.repo.honesty.varied import varied

TEXT = '''
@mark.parametrize("ab, cd", [(1, "ab")], ids=["one"])
def test_it(a, b):
    """Say 1."""
    value = [1, "xyz"]
    assert f(value, 2.5, True, "é") == [3, "no"], "words 1"
    self.assertEqual(5, f(1))


def test_other():
    assert f(1) == 2
'''


def test_numbers_of_inputs_become_others() -> None:
    text = varied(TEXT, {"test_it"}, 0)
    assert text is not None
    assert '@mark.parametrize("ab, cd", [((1 + 1), "ab")], ids=["one"])' in text
    assert 'value = [(1 + 1), "xyz"]' in text
    assert 'f(value, (2.5 + 1), True, "é") == [3, "no"], "words 1"' in text
    assert "self.assertEqual(5, f((1 + 1)))" in text
    assert '"""Say 1."""' in text
    assert "    assert f(1) == 2\n" in text


def test_texts_of_inputs_become_others_of_the_same_length() -> None:
    text = varied(TEXT, {"test_it"}, 1)
    assert text is not None
    assert """@mark.parametrize("ab, cd", [(1, 'ba')], ids=["one"])""" in text
    assert "value = [1, 'yzx']" in text


def test_what_has_no_inputs_is_not_varied() -> None:
    assert varied("def test_it():\n    assert f() == 1\n", {"test_it"}, 0) is None
    assert varied(TEXT, {"test_unknown"}, 2) is None


def test_a_table_that_a_test_uses_is_varied_too() -> None:
    text = "TABLE, OTHER = [(1, 2)], 3\nUSED = [(4, 5)]\n\n\n@mark(USED)\ndef test_it(a): pass\n"
    assert "USED = [((4 + 1), (5 + 1))]" in (varied(text, {"test_it"}, 0) or "")
    assert "TABLE, OTHER = [(1, 2)], 3" in (varied(text, {"test_it"}, 0) or "")


def test_inputs_of_an_inherited_test_become_others() -> None:
    text = "class A:\n    def test_it(self):\n        assert f(1) == 2\nclass B(A):\n    pass\n"
    assert "f((1 + 1)) == 2" in (varied(text, ("B::test_it",), 0) or "")
