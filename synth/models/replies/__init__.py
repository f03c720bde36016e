"""What a model's server answered, read as a reply of the agent, and the calls in it."""
