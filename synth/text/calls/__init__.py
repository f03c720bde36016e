"""Tool calls that a model wrote into its text, in the forms that families of models have for
them.
"""
