"""Regret and speed against the peers. ``make bench-regret`` runs it and writes
docs/benchmarks.md.
"""
