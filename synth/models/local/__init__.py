"""Models on this machine: in this process, or in a server that is started for the run."""
