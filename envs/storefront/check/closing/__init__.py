"""The closer reading of what an agent says at the end: what of it can be checked."""
