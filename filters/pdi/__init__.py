"""The offline index of PDI over chains of attempts with a carried memo and a skill text: a
diagnostic, never a reason to drop a row.
"""
