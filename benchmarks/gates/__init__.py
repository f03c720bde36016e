"""What each gate misses and what it stops wrongly, source by source."""
