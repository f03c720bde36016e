"""What people and models write and are shown: settings, YAML, chat messages, foreign text."""
