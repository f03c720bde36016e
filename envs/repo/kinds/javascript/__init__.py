"""The same in another language: JavaScript, run by node."""
