"""Functions whose optimum is known, and contracts that others can run on what they built."""

from noregret.testing.problems import RKHSFunction, bump, rkhs_sample

__all__ = ["RKHSFunction", "bump", "rkhs_sample"]
