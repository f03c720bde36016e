"""What a function promises, changed where it is defined and at its callers, but for one of them."""
