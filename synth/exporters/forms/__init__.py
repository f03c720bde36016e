"""How each trainer and each reader wants rows: one file per form, each a table of columns."""
