"""Files and folders as JSON records."""
