"""What the words around a value say of it."""
