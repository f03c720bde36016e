"""Logs of single calls of a model, put together to the conversations that they belong to."""
