"""Reads an SFT data set that synth wrote for verl: messages and tools are JSON text; loss on the
turns that the row names, on no other.

verl's own class renders each message by itself: several tool answers in a row, and thoughts, are
then not what the template makes of the
whole conversation, and it stops. So this one renders the conversation whole, and finds the turns in
it. Read against verl 0.9.1.
"""

import json
from typing import Any

from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset

_MARK = "synth marks the end of a turn"


class SynthSFTDataset(MultiTurnSFTDataset):  # type: ignore[misc]
    """verl's data set of conversations, with exact messages and tools, and with masks by turn; the
    tokenizer must be a fast one.
    """

    def _read_files_and_process(self) -> None:
        super()._read_files_and_process()
        self.tools = [json.loads(text) or None for text in self.dataframe[self.tools_key]]

    def _build_messages(self, example: dict[str, Any]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = json.loads(example[self.messages_key])
        trained, turn = set(example["trained_turns"]), -1
        for message in messages:
            turn += message["role"] == "assistant"
            message["synth_loss"] = message["role"] == "assistant" and turn in trained
        return messages

    def _process_single_message(
        self,
        index: int,
        message: dict[str, Any],
        full_message: list[dict[str, Any]],
        tools: Any = None,
        enable_thinking: bool | None = None,
    ) -> Any:
        """The whole conversation in the place of its first message, nothing in the place of the
        others.
        """
        import torch

        if index > 0:
            nothing = torch.empty(0, dtype=torch.long)
            return nothing, nothing, nothing, {}
        settings = {
            **self.apply_chat_template_kwargs,
            **({} if enable_thinking is None else {"enable_thinking": enable_thinking}),
        }

        def text(messages: list[dict[str, Any]], *, answering: bool = False) -> str:
            shown = [
                {key: value for key, value in one.items() if key != "synth_loss"}
                for one in messages
            ]
            return str(
                self.tokenizer.apply_chat_template(
                    shown, tools=tools, tokenize=False, add_generation_prompt=answering, **settings
                )
            )

        whole = text(full_message)
        lit = [
            _span(whole, full_message, at, text)
            for at, one in enumerate(full_message)
            if one["synth_loss"]
        ]
        made = self.tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True)
        loss = [
            any(start <= first and last <= end for start, end in lit)
            for first, last in made["offset_mapping"]
        ]
        input_ids = torch.tensor(made["input_ids"], dtype=torch.long)
        return input_ids, torch.tensor(loss, dtype=torch.long), torch.ones_like(input_ids), {}


def _span(whole: str, messages: list[dict[str, Any]], at: int, text: Any) -> tuple[int, int]:
    """Where in the rendered conversation a turn stands, with the words that close it. Raises
    `ValueError` where that cannot be told.

    A template that renders the last turn otherwise (Qwen 3 and its thoughts) is asked for a marked
    turn in its place.
    """
    before, after = text(messages[:at], answering=True), text(messages[: at + 1])
    if whole.startswith(before):
        if whole.startswith(after):
            return len(before), len(after.rstrip())
        marked = {"role": "assistant", "content": _MARK}
        behind = text([*messages[:at], marked, *messages[at + 1 :]]).rpartition(_MARK)[2]
        closing = text([*messages[:at], marked]).rpartition(_MARK)[2]
        end = len(whole) - len(behind)
        if behind and whole.endswith(behind) and behind.startswith(closing) and end >= len(before):
            return len(before), end + len(closing.rstrip())
    raise ValueError(
        f"message {at}: the chat template renders what stands before this turn otherwise once it "
        "is there, so its loss has no place; "
        "export with `unroll: per_turn`, or train with another template"
    )
