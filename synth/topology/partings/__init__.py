"""Where the trials of a task part: states that several of them were in, and what each did there."""
