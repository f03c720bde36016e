"""Makes a pool: takes repositories, breaks them where their tests notice, and writes the tasks."""
