"""Tools that the provider of a model ran within the call."""
