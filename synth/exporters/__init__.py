"""Training data sets, in the forms that trainers read."""
