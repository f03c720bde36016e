"""Whether code passes tests, or gets round them."""
