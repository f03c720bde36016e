"""Who speaks: what they want, know and say."""
