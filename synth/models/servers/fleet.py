"""One or several servers of the same model as one transport: conversations stay where their prefix
is, servers that fail are left out.
"""

import asyncio
from collections.abc import Sequence

from synth.models.backoff import Pacing
from synth.models.server_error import ServerError
from synth.models.servers.bounded_load import chosen
from synth.models.servers.chat_request import Post, Received, opening_key
from synth.models.servers.fleet_member import MISPLACED, FleetMember
from synth.models.servers.http_server import HTTPServer
from synth.models.settings import ModelSettings


class Fleet:
    """A transport over servers that serve the same model.

    A conversation goes to the server that its opening prefers (bounded_load). A server that turns a
    call away, or that is set up wrongly, passes it on to the next at once; after other failures the
    further tries prefer servers that have not failed this call. Circuits that are open are probed
    in the background. Where none is closed, calls are tried as if all were.
    """

    def __init__(
        self,
        servers: Sequence[HTTPServer],
        settings: ModelSettings,
        pacing: Pacing,
        *,
        watched: bool = True,
    ) -> None:
        self._members = [FleetMember(server, settings, pacing, watched) for server in servers]
        self._most = settings.max_in_flight
        self._clock = pacing.clock

    @property
    def room(self) -> int:
        """Calls that the servers have room for, at most `max_in_flight`."""
        closed = _closed(self._members)
        return min(self._most, sum(member.limit.limit for member in closed))

    async def post(self, post: Post, timeout_s: float) -> Received:
        """One try, at one server after the other where they turn it away. Raises `ServerError`."""
        ends = self._clock() + timeout_s
        left = list(self._members)
        for member in left:
            member.probe_where_due()

        while True:
            member = _chosen(post, left)
            try:
                return await member.asked(post, ends)
            except ServerError as error:
                member.failed(error, alone=len(self._members) == 1)
                left.remove(member)
                elsewhere = any(not other.circuit.open for other in left)
                goes_on = error.turned_away or error.status in MISPLACED
                if not (elsewhere and goes_on and self._clock() < ends):
                    post.failed_at.add(member.server.url)
                    raise

    async def close(self) -> None:
        """Ends what runs in the background, and closes the connections."""
        await asyncio.gather(*(member.close() for member in self._members))


def _closed(members: list[FleetMember]) -> list[FleetMember]:
    """Those whose circuit is closed, or all where none is."""
    return [member for member in members if not member.circuit.open] or members


def _chosen(post: Post, left: list[FleetMember]) -> FleetMember:
    """The one that the conversation prefers of those that are well and have not failed it."""
    closed = _closed(left)
    pool = [member for member in closed if member.server.url not in post.failed_at] or closed
    if len(pool) == 1:
        return pool[0]

    by_url = {member.server.url: member for member in pool}
    in_flight = {url: member.in_flight for url, member in by_url.items()}
    room = {url: member.limit.limit for url, member in by_url.items()}
    return by_url[chosen(opening_key(post.messages), in_flight, room)]
