"""State that is kept too long or shared."""

from pathlib import Path

from synth.envs.repo.kinds.stale_state import stale_state
from tests.envs.repo.kinds.mini_library import broken_by, one_of, value

SHELF = """class Shelf:
    def __init__(self, name):
        self.name = name
        self.books = []

    def add(self, book):
        self.books.append(book)

    def drop(self, book):
        self.books.remove(book)

    def told(self):
        return ", ".join(self.books)
"""


def test_a_memo_whose_key_lacks_a_part(tmp_path: Path) -> None:
    text = """def scaled(value, by):
    product = value * by
    return product
"""
    expected = """_kept_scaled = {}


def scaled(value, by):
    scaled_key = repr(value)
    if scaled_key in _kept_scaled:
        return _kept_scaled[scaled_key]
    product = value * by
    _kept_scaled[scaled_key] = product
    return _kept_scaled[scaled_key]
"""
    made = one_of(broken_by(stale_state, tmp_path, {"mini.py": text}), "key without a part")
    assert made.edits == {"mini.py": expected}
    assert value(text, "[scaled(2, 3), scaled(2, 5)]") == [6, 10]
    assert value(expected, "[scaled(2, 3), scaled(2, 5)]") == [6, 6]


def test_an_answer_that_one_of_two_changes_does_not_forget(tmp_path: Path) -> None:
    expected = """class Shelf:
    def __init__(self, name):
        self.name = name
        self.books = []

    def add(self, book):
        self.books.append(book)

    def drop(self, book):
        self.__dict__.pop("_kept_told", None)
        self.books.remove(book)

    def told(self):
        if "_kept_told" in self.__dict__:
            return self._kept_told
        self._kept_told = ", ".join(self.books)
        return self._kept_told
"""
    offered = broken_by(stale_state, tmp_path, {"mini.py": SHELF})
    kept = [one for one in offered if one.about["operators"] == "kept past a change"]
    assert len(kept) == 2
    made = next(one for one in kept if one.about["functions"] == "Shelf.told Shelf.add")
    assert made.edits == {"mini.py": expected}
    assert made.sites == 2
    use = "(s := Shelf('a'), s.add('x'), s.told(), s.add('y'), s.told())[-1]"
    assert (value(SHELF, use), value(expected, use)) == ("x, y", "x")


def test_a_list_that_all_instances_hold(tmp_path: Path) -> None:
    expected = SHELF.replace("        self.books = []\n", "").replace(
        "    def __init__", "    books = []\n\n    def __init__"
    )
    made = one_of(broken_by(stale_state, tmp_path, {"mini.py": SHELF}), "one for all instances")
    assert made.edits == {"mini.py": expected}
    use = "(Shelf('a').add('x'), Shelf('b').told())[-1]"
    assert (value(SHELF, use), value(expected, use)) == ("", "x")


def test_a_default_that_is_made_once(tmp_path: Path) -> None:
    text = """def noted(item, into=None):
    if into is None:
        into = []
    into.append(item)
    return into
"""
    expected = """def noted(item, into=[]):
    into.append(item)
    return into
"""
    made = one_of(broken_by(stale_state, tmp_path, {"mini.py": text}), "default made once")
    assert made.edits == {"mini.py": expected}
    use = "(noted(1), noted(2))[-1]"
    assert (value(text, use), value(expected, use)) == ([2], [1, 2])


def test_what_a_caller_handed_in_stays_the_callers(tmp_path: Path) -> None:
    text = """def with_end(rows):
    own = list(rows)
    own.append("end")
    return own
"""
    made = one_of(broken_by(stale_state, tmp_path, {"mini.py": text}), "still the caller's")
    expected = text.replace("list(rows)", "rows")
    assert made.edits == {"mini.py": expected}
    use = "(r := ['a'], with_end(r), r)[-1]"
    assert (value(text, use), value(expected, use)) == (["a"], ["a", "end"])


def test_a_cache_that_is_not_forgotten(tmp_path: Path) -> None:
    text = """class Total:
    def __init__(self):
        self.rows = [0]
        self.known = None

    def add(self, row):
        self.rows.append(row)
        self.known = None

    def total(self):
        if self.known is None:
            self.known = sum(self.rows)
        return self.known
"""
    made = one_of(broken_by(stale_state, tmp_path, {"mini.py": text}), "not forgotten")
    expected = text.replace("append(row)\n        self.known = None", "append(row)\n        pass")
    assert made.edits == {"mini.py": expected}
    use = "(t := Total(), t.total(), t.add(3), t.total())[-1]"
    assert (value(text, use), value(expected, use)) == (3, 0)
