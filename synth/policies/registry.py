"""Policies by name: how a flow names who decides the next turn."""

POLICIES: dict[str, str] = {
    "chat": "synth.policies.chat:chat_policy",
    "expert": "synth.policies.expert:expert_policy",
    "random": "synth.policies.random_walk:random_policy",
    "mixture": "synth.policies.mixture:mixture_policy",
}
"""Each a function `(settings, *, model_name, sampling) -> PolicySpec`."""
