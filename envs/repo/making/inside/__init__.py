"""What runs inside the box, beside the tests; copied into a pool's tools, imports nothing of ours."""
