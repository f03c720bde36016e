"""What stages conclude and trainers learn from, and which rows may leave."""
