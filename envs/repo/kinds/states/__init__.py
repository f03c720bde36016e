"""State that is kept too long, or in one place for all."""
