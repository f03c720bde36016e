"""Ways of breaking a tree that touch more than one place: what makes a task worth training on."""
