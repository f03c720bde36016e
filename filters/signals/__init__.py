"""Signals: cheap, model-free triage of conversations (arXiv 2604.00356; the rules and thresholds of
katanemo/plano, our own word lists).
"""
