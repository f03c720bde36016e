"""A folder as state: what lies in it, as facts and as bytes."""
