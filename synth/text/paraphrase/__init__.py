"""Texts that say the same in other words, or the same of other entities."""
