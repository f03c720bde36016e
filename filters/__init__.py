"""What is worth keeping: one metric or filter per file."""
