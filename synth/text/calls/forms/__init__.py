"""The forms in which families of models write calls, one module each."""
