"""Where a key still stands, found without the code that removes it: everything is decoded, over and
over, and looked at.
"""

import base64
import binascii
import html
import re
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as parquet

DEEPEST = 3


def pieces(key: str, share: float) -> set[str]:
    """All parts of a key that are longer than a share of it."""
    size = int(len(key) * share) + 1
    return {key[at : at + size].lower() for at in range(len(key) - size + 1)}


def told(text: str, key: str, depth: int = DEEPEST, share: float = 0.5) -> bool:
    """Whether a text, or what it decodes to, holds more than a share of a key."""
    wanted, lowered = pieces(key, share), text.lower()
    if any(piece in lowered for piece in wanted):
        return True
    return depth > 0 and any(
        told(other, key, depth - 1, share) for other in decoded(text) if other != text
    )


def decoded(text: str) -> list[str]:
    """What a text says without escapes, and what its runs of base64 and hexadecimal numbers say at
    every alignment.
    """
    found = [
        unquote(text),
        html.unescape(text),
        re.sub(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))", _letter, text),
    ]
    found.append(re.sub(r"\\+(.)", r"\1", text))
    whole = re.sub(r"\s|\\n", "", text)
    for run in {
        *re.findall(r"[A-Za-z0-9+/_-]{12,}", text),
        *re.findall(r"[A-Za-z0-9+/_-]{40,}", whole),
    }:
        plain = run.replace("-", "+").replace("_", "/")
        for at in range(4):
            part = plain[at:]
            part = part[: len(part) - len(part) % 4]
            try:
                found.append(base64.b64decode(part).decode("latin-1"))
            except (binascii.Error, ValueError):
                continue
    for run in re.findall(r"(?:[0-9a-fA-F]{2}[\s:,-]?){6,}", text):
        digits = re.sub(r"[^0-9a-fA-F]", "", run)
        found += [
            bytes.fromhex(digits[at : len(digits) - (len(digits) - at) % 2]).decode("latin-1")
            for at in (0, 1)
        ]
    return found


def _letter(code: "re.Match[str]") -> str:
    return chr(int(code[1] or code[2], 16))


def texts(folder: Path) -> dict[str, str]:
    """Every file below a folder as text, the cells of tables unpacked."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            blob = path.read_bytes()
            found[str(path)] = blob.decode("latin-1") + "\n" + str(path)
            if path.suffix == ".parquet":
                table = parquet.read_table(path)
                found[str(path)] = "\n".join(
                    str(cell) for column in table.itercolumns() for cell in column.to_pylist()
                )
                found[str(path)] += str(table.schema.metadata)
    return found
