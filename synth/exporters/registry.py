"""Exporters by kind of data set, and the forms in which each can be written."""

EXPORTERS: dict[str, str] = {
    "sft": "synth.exporters.sft:export_sft",
}

SFT_FORMS: dict[str, str] = {
    "trl": "synth.exporters.trl:SFT",
}
