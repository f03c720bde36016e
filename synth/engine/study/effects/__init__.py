"""What tests of acts at a state came to: both sides of each, and what the acts are worth."""
