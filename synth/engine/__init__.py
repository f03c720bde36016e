"""The stage engine: what is to do, what is done already, and why something is done again."""
