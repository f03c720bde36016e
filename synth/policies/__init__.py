"""Who decides the next turn: one policy per file."""
