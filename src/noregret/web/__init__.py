"""The page and its JSON API (extra ``web``). It reads and writes studies; it never runs an
objective.
"""
