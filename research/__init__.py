"""The paper's figures, the benchmarks, the problems: nothing of it is in the wheel."""
