"""The types that travel, and the protocols that parts meet through."""
