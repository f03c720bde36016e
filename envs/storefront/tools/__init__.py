"""What the agent can call, and what a call does."""
