"""What can be asked and changed: in SQL, in words, and nearly right."""
