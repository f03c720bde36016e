"""Which public benchmark a task is one of, by what it says."""
