"""Which of several observed objects an agent chose, and why it may have."""
