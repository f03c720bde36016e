"""Whether a chat template renders what stands before a turn as it rendered it when the turn was
sampled.
"""

from collections.abc import Iterable
from functools import partial

from synth.exporters.proof.template import Template
from synth.exporters.sft_rows import SftRow
from synth.set_aside import SetAside


def all_prefixes_stay(rows: Iterable[SftRow], template: Template) -> bool:
    """Whether every row's do; the first that does not ends the look. Rows that the template refuses
    are set aside elsewhere.
    """
    refused = SetAside()
    return all(
        refused.tried(row.trajectory.trajectory_id, partial(prefixes_stay, row, template))
        is not False
        for row in rows
    )


def prefixes_stay(row: SftRow, template: Template) -> bool:
    """Whether the rendering before each assistant message is a prefix of the next such rendering:
    of its tokens, or, without a
    tokenizer, of its text (rigor: masks, rows, fidelity).
    """
    tools = row.trajectory.tools
    before = None
    for at, message in enumerate(row.messages):
        if message["role"] != "assistant":
            continue
        asked = template.text(row.messages[:at], tools, generation_prompt=True)
        if before is not None and not _begins(asked, before, template):
            return False
        before = asked
    return before is None or _begins(template.text(row.messages, tools), before, template)


def _begins(text: str, before: str, template: Template) -> bool:
    ids, ids_before = template.ids(text), template.ids(before)
    if ids is None or ids_before is None:
        return text.startswith(before)
    return ids[: len(ids_before)] == ids_before
