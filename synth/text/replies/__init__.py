"""Replies of models that were asked for JSON, read as leniently as can be done without a guess."""
