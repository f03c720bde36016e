"""The live tree of an episode: commands in it, looks at it and edits, what is observed of them."""
