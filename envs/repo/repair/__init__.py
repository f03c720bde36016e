"""How a broken tree is mended: the edits that lead from one text to another, edits that are nearly
right, and the environment's own expert, who plans from both.
"""
