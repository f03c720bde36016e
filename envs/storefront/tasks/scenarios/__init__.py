"""What tasks are about: requests with a complication, pairs of them, and those beside."""
