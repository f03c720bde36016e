"""Small edits that undo small bugs."""
