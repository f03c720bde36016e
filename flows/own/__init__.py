"""A user's own: flow files, what they say of environments, and the folders of their runs."""
