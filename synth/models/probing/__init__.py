"""What a chat server can do, found out by asking it."""
