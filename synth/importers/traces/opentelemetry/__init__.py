"""Traces of OpenTelemetry: spans, and the messages that they hold by any of its conventions."""
