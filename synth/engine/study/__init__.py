"""The skeleton of every collection stage: plays, tests, commits and resumes its units."""
