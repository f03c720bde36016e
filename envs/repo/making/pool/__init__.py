"""A pool of tasks made: which bug comes next, what is written, what is known of an earlier call."""
