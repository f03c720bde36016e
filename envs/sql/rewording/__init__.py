"""Changes of a database in other words than the grammar's: read back by the names of its tables and
columns, and a model's words for a goal accepted where they are read as the same changes.
"""
