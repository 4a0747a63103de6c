"""Settings for all tests: properties run the same examples every time, without wall-clock limits.

`HYPOTHESIS_PROFILE=explore make test` looks for new ones. Processes that tests start hear a hangup, even
under `nohup`: what is ignored is inherited, a handler is not.
"""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)
