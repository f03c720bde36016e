"""Messages between the keeper and its parent: their length, and what `marshal` makes of them."""

import marshal
import socket
import struct
from typing import Any

LENGTH = struct.Struct("<I")


def packed(message: Any) -> bytes:
    """A message as it is sent."""
    said = marshal.dumps(message)
    return LENGTH.pack(len(said)) + said


def send(line: socket.socket, message: Any) -> None:
    """Sends a message."""
    line.sendall(packed(message))


def receive(line: socket.socket) -> Any:
    """The next message; None at the end."""
    head = _bytes(line, LENGTH.size)
    return None if head is None else marshal.loads(_bytes(line, LENGTH.unpack(head)[0]) or b"N")


def _bytes(line: socket.socket, wanted: int) -> bytes | None:
    found = bytearray()
    try:
        while len(found) < wanted:
            part = line.recv(min(wanted - len(found), 1 << 20))
            if not part:
                return None
            found += part
    except ConnectionError:
        return None

    return bytes(found)
