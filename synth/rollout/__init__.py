"""Episodes: a policy acts in a world until the end, a limit or a fault; every episode on its
own.
"""
