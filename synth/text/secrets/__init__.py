"""Finds secrets and personal data in texts."""
