"""Small solves run on one BLAS thread: tests run one process per core."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

settings.register_profile("noregret", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("noregret")
