"""Roles that play no episode: what they are told, and what their replies say."""
