"""Settings of the whole test run."""

from __future__ import annotations

import os
import signal

# Parallel test processes share the cores: each computes on one thread, or they would wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

# A shell that starts tests in the background makes them ignore Ctrl-C, and every process that they start too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
