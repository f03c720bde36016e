"""What this project is built from: lock files with hashes, licences, a bill of materials."""
