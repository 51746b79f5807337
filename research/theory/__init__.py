"""Measurements beside the theorems: what docs/theory.md#measured says."""
