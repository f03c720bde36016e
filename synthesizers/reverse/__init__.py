"""Tasks out of explorations: walk, windows, zones, and the tests that a derived task must pass."""
