"""Reads an SFT data set that synth wrote for verl: messages and tools are JSON text; loss on the turns that the row names, on no other."""

import json
from typing import Any

from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset


class SynthSFTDataset(MultiTurnSFTDataset):  # type: ignore[misc]
    """verl's data set of conversations, with exact messages and tools, and with masks by turn."""

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

    def _process_single_message(self, index: int, message: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        shown = {key: value for key, value in message.items() if key != "synth_loss"}
        input_ids, loss_mask, attention_mask, inputs = super()._process_single_message(index, shown, *args, **kwargs)
        return input_ids, loss_mask if message["synth_loss"] else loss_mask * 0, attention_mask, inputs
