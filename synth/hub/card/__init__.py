"""The card of a published dataset, and the texts that a publication fills in."""
