"""Builds a chat model of random weights: `python random_model.py FOLDER`, with an interpreter that
has torch and transformers.

A Qwen3 of 2 layers and a byte-level BPE tokenizer, with a template that writes tools and tool calls
as Qwen does (Hermes tags). What it says means nothing; what engines and servers do with it is what
is tested.
"""

import sys
from pathlib import Path

TEMPLATE = """\
{%- if tools %}<|im_start|>system
{%- for message in messages if message.role == 'system' %}
{{ message.content }}
{%- endfor %}
# Tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}<|im_start|>assistant
{% generation %}{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>
{% endif %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{%- set given = call.function.arguments %}
{"name": {{ call.function.name | tojson }}, "arguments": {{
    given if given is string else given | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>{% endgeneration %}
{% elif not (tools and message.role == 'system') %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TAGS = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
TEXT = Path(__file__).resolve().parents[1] / "LICENSE"
"""What the tokenizer learns from: a text that does not change. Its indentation is left out: with
many tokens of white space, JSON that
is drawn at random under a schema is little else, and runs into its limit.
"""


def build(folder: Path, seed: int = 0) -> None:
    """Writes the model and its tokenizer, below 5 MB."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1024 - len(TAGS),
        special_tokens=SPECIAL,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join(TEXT.read_text().split())], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=32768,
        chat_template=TEMPLATE,
    )
    fast.add_tokens(TAGS)
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=1024,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
        initializer_range=0.2,
        bos_token_id=None,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
    )
    Qwen3ForCausalLM(config).to(torch.float32).save_pretrained(folder)
    fast.save_pretrained(folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
