"""Policies by name: how a flow names who decides the next turn."""

POLICIES: dict[str, str] = {
    "chat": "synth.policies.chat:chat_policy",
    "expert": "synth.policies.scripted:expert_policy",
    "random": "synth.policies.scripted:random_policy",
    "mixture": "synth.policies.mixture:mixture_policy",
}
"""Each a function `(settings, *, model_name, sampling) -> PolicySpec`."""
