"""Files of the product, parsed."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def parsed(path: Path) -> ast.Module:
    # Garbage that prints a traceback while Python up to 3.11.7 builds a tree breaks that tree.
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()
