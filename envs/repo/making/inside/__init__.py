"""What runs beside the tests, inside the box; copied into a pool's tools, it imports none of us."""
