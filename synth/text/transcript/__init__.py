"""Transcripts as texts: acts, where two part, the log that roles read, places of texts."""
