"""Collection stages by the name that a flow.yaml gives them: `module:attribute`, imported when used."""

SYNTHESIZERS: dict[str, str] = {
    "rollout": "synthesizers.rollout:SYNTHESIZER",
}
