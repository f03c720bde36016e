"""What a library can do, taken out with all that hangs on it."""
