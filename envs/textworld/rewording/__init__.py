"""Goals in other words than the world's own: read back by the names of the game's things, and a
model's words for a goal accepted where they are read as the same wishes.
"""
