"""Critical steps, part by part: which steps and acts are proposed, how a state is tested, what the
rows say.
"""
