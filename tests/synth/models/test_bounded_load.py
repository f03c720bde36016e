from collections import Counter
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from synth.models.servers.bounded_load import chosen, preferred

URLS = [f"http://10.0.0.{i}:8000/v1" for i in range(8)]
KEYS = [number.to_bytes(8, "big") for number in range(4000)]


def test_keys_are_spread_evenly() -> None:
    counts = Counter(preferred(key, dict.fromkeys(URLS, 0))[0] for key in KEYS)
    assert set(counts) == set(URLS)
    assert all(400 < count < 600 for count in counts.values()), (
        "500 each, three standard deviations of 21 are 63"
    )


def test_a_server_that_leaves_moves_only_its_own_keys_and_to_all_others() -> None:
    gone, *rest = URLS
    before = {key: preferred(key, dict.fromkeys(URLS, 0)) for key in KEYS}
    heirs = Counter()
    for key, order in before.items():
        now = preferred(key, dict.fromkeys(rest, 0))[0]
        assert order[0] == gone or now == order[0]
        if order[0] == gone:
            heirs[now] += 1
    assert set(heirs) == set(rest)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(0, 2**64 - 1))
def test_no_server_gets_more_than_a_quarter_above_its_share(loads: list[int], number: int) -> None:
    servers = dict(zip(URLS, loads, strict=False))
    url = chosen(number.to_bytes(8, "big"), servers, dict.fromkeys(servers, 256))
    assert servers[url] + 1 <= ceil(1.25 * (sum(loads) + 1) / len(loads))


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 300)), min_size=1, max_size=8),
    st.integers(0, 2**64 - 1),
)
def test_there_is_always_a_server_and_its_share_goes_by_its_room(
    states: list[tuple[int, int]], number: int
) -> None:
    servers = {url: load for url, (load, _) in zip(URLS, states, strict=False)}
    room = {url: places for url, (_, places) in zip(URLS, states, strict=False)}
    url = chosen(number.to_bytes(8, "big"), servers, room)
    assert servers[url] < 1.25 * (sum(servers.values()) + 1) * room[url] / sum(room.values()) + 1


def test_a_key_stays_with_its_server_until_that_one_is_full() -> None:
    key = KEYS[7]
    first, second, *_ = preferred(key, dict.fromkeys(URLS, 0))
    loads = dict.fromkeys(URLS, 10)
    room = dict.fromkeys(URLS, 64)
    assert chosen(key, loads, room) == first
    assert chosen(key, {**loads, first: 13}, room) == first, (
        "its bound is ceil(1.25 * 84 / 8) = 14 calls"
    )
    assert chosen(key, {**loads, first: 14}, room) == second
