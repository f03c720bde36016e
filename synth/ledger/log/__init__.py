"""The manifest and what is read from it: which shards, slots and files a run holds."""
