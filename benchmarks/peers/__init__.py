"""Other tools at the same work, against the same server: `python -m benchmarks.peers`; what it
shows stands in docs/peers.md.
"""
