"""Models behind HTTP servers: the client, the servers that it chooses between, their scores."""
