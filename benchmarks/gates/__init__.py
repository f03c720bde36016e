"""What each gate misses and what it turns away without cause, on several sources."""
