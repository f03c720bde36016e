"""The same ways of breaking trees in JavaScript, on a library written by hand."""

import shutil
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from synth.envs.repo.broken import Breaking, BrokenTree
from synth.envs.repo.kinds.javascript import contract, feature, sites
from synth.envs.repo.kinds.javascript.parsed import parse
from synth.envs.repo.kinds.javascript.tree import JsTree, spliced
from synth.envs.repo.pool import Library

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node"),
]

SOURCE = """/** Twice a number. */
export function double(number) {
  return number * 2;
}

/**
 * A price for so many pieces.
 */
export function price(count, each) {
  const sum = double(count) * each;
  return sum / 2;
}

export function ordered(one, other) {
  return price(one, 1) < price(other, 1);
}
"""
TESTS = """import assert from 'node:assert/strict';
import { test } from 'node:test';
import { double, ordered, price } from '../src/shop.mjs';

test('double', () => {
  assert.equal(double(2), 4);
});

test('price', () => {
  assert.equal(price(2, 3), 6);
});

test('ordered', () => {
  assert.equal(ordered(1, 2), true);
});
"""


def offered(breaking: Breaking, base: Path, most: int = 20) -> list[BrokenTree]:
    for path, text in {"src/shop.mjs": SOURCE, "test/shop.test.mjs": TESTS}.items():
        (base / path).parent.mkdir(exist_ok=True)
        (base / path).write_text(text)
    library = Library(
        name="shop",
        engine="node",
        digest="d",
        tests={"test/shop.test.mjs::price": "test/shop.test.mjs"},
        source=("src/shop.mjs",),
        protected=("test/*",),
    )
    return list(islice(breaking(library, base, Random(7)), most))


def test_one_site_is_one_edit() -> None:
    tree = JsTree({"src/shop.mjs": SOURCE}, [])
    texts = {
        spliced(SOURCE, [edit]) for one in tree.functions for _, edit in sites.sites(tree, one)
    }
    assert SOURCE.replace("number * 2", "number + 2") in texts
    assert SOURCE.replace("number * 2", "number * 3") in texts
    assert SOURCE.replace(") < price", ") <= price") in texts
    assert SOURCE.replace("price(one, 1)", "price(1, one)") in texts


def test_operators_take_turns(tmp_path: Path) -> None:
    found = offered(sites.one_site, tmp_path, most=3)
    assert [one.about["operators"] for one in found] == ["arguments", "number", "operation"]


def test_several_sites_are_in_one_chain_of_calls(tmp_path: Path) -> None:
    for one in offered(sites.several_sites, tmp_path, most=5):
        names = one.about["functions"].split()
        assert names in (["price", "double"], ["ordered", "price"], ["ordered", "price", "double"])
        assert one.sites == len(names)


def test_a_feature_goes_with_those_that_need_it_and_its_tests(tmp_path: Path) -> None:
    found = offered(feature.feature_removed, tmp_path)
    made = next(one for one in found if one.about["functions"] == "price ordered")
    assert made.edits["src/shop.mjs"] == SOURCE[: SOURCE.index("/**\n * A price")]
    seen = TESTS[: TESTS.index("test('price'")].replace("double, ordered, price", "double")
    assert made.edits["test/shop.test.mjs"] == seen
    assert made.solution == {"test/shop.test.mjs": seen}
    assert "`price(count, each)` is missing from src/shop.mjs" in made.hint
    assert "A price for so many pieces." in made.hint
    (unseen,) = made.hidden.values()
    assert "test('double'" not in unseen
    assert "test('price'" in unseen


def test_a_contract_changes_at_the_definition_and_at_a_caller(tmp_path: Path) -> None:
    texts = {one.edits["src/shop.mjs"] for one in offered(contract.contract_changed, tmp_path)}
    expected = SOURCE.replace("return number * 2", "return (number * 2) + 1").replace(
        "double(count) *", "(double(count) - 1) *"
    )
    assert expected in texts


def test_answers_are_kept_by_the_first_part_of_their_key(tmp_path: Path) -> None:
    found = offered(contract.stale_state, tmp_path)
    made = next(one for one in found if one.about["functions"] == "price")
    assert made.edits["src/shop.mjs"] == SOURCE.replace(
        "/**\n * A price", "const priceKept = new Map();\n\n/**\n * A price"
    ).replace(
        "each) {\n",
        "each) {\n  const key = JSON.stringify(count);\n"
        "  if (priceKept.has(key)) return priceKept.get(key);\n",
    ).replace("return sum / 2;", "{ priceKept.set(key, sum / 2); return priceKept.get(key); }")


def test_places_are_counted_in_characters() -> None:
    tree = parse({"a.mjs": "const a = '😀😀'; const b = 1;"})["a.mjs"]
    last = tree.many("body")[1]
    assert (last.start, last.end) == (16, 28)


def test_what_is_no_javascript_is_left_out() -> None:
    assert parse({"a.mjs": "const = 1", "b.mjs": "1"}).keys() == {"b.mjs"}
