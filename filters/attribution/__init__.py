"""Who broke a failed run, in which turn and how: by rules from the transcript, or by a judge. A
column, never a label.
"""
