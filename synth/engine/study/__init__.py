"""What every method of collection shares: how its units are played, tested, committed and resumed."""
