"""Many patterns searched in a text at once."""
