"""Clients of language models: engines behind one protocol, and what stands above every
transport.
"""
