"""A real language model in every role of `configs/full.yaml`: SmolLM2-135M behind vLLM's CPU
build.
"""
