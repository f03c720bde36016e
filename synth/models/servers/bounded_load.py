"""Which of several servers a conversation goes to: always the same one, unless it has its share of
calls already.

Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2018): no server gets more
than `SLACK` times its share of the calls in flight. The order in which a key prefers servers is
that of rendezvous hashing (Thaler, Ravishankar 1998), so a server that is full or gone hands its
keys to all others in equal parts, and no other key moves.
"""

from collections.abc import Mapping
from hashlib import blake2b
from math import ceil

SLACK = 1.25


def preferred(key: bytes, servers: Mapping[str, int]) -> list[str]:
    """The servers in the order in which a key asks for them."""
    return sorted(
        servers, key=lambda server: blake2b(server.encode(), key=key, digest_size=8).digest()
    )


def chosen(key: bytes, servers: Mapping[str, int], room: Mapping[str, int]) -> str:
    """The first preferred server that has fewer calls than its bound; `servers` = calls in flight
    at each, `room` = how many it can take.

    A server's bound is `ceil(SLACK * (all calls + this one) * its room / all room)`, of which at
    least one has fewer, and its room, as long as there is any.
    """
    calls, places = sum(servers.values()) + 1, sum(room[server] for server in servers)
    order = [
        s for s in preferred(key, servers) if servers[s] < ceil(SLACK * calls * room[s] / places)
    ]
    return next((server for server in order if servers[server] < room[server]), order[0])
