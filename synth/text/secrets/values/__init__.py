"""Whether a value by itself looks like a password, a key or a token."""
