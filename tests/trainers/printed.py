"""The code of docs/training.md, by heading, as a user would run it: with a small model, short, on
CPU.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def code_under(heading: str, block: int = 0) -> str:
    """A block of Python under a heading of the page."""
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", page.split(f"\n## {heading}\n", 1)[1], flags=re.MULTILINE)[0]
    return str(re.findall(r"```python\n(.*?)```", section, re.DOTALL)[block])


def trained(code: str, model: Path, data: Path, **settings: Any) -> dict[str, Any]:
    """Runs the code and gives its variables; `settings` go into the trainer's configuration."""
    code = code.replace("Qwen/Qwen3-0.6B", str(model)).replace('"data/', f'"{data}/')
    further = {
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "logging_steps": 1,
        "seed": 1,
        **settings,
    }
    code, count = re.subn(
        r'output_dir="(\w+)"',
        ", ".join([r'output_dir="\1"', *(f"{name}={value!r}" for name, value in further.items())]),
        code,
    )
    assert count <= 1
    made: dict[str, Any] = {}
    exec(compile(code, "docs/training.md", "exec"), made)
    return made


def losses(trainer: Any) -> list[float]:
    """As it logged them."""
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
