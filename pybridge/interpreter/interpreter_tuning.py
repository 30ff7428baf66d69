"""Triton's autotune where nothing is timed.

A GPU runs every configuration many times at the first call of a size, and any of them may be the fastest.
Here the configuration that the launch asks for is taken, and is tried once before it, so that a kernel which
adds to what is there adds twice, as there. The driver launches the same call for the other configurations.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner, Config

import implementation


def _matters(tuner: Autotuner, config: Config) -> dict[str, Any]:
    """What of a configuration the interpreter sees."""
    return {k: v for k, v in config.all_kwargs().items() if k in config.kwargs or k in tuner.arg_names}


def _different(tuner: Autotuner, configs: list[Config]) -> list[Config]:
    """The first of those that the interpreter cannot tell apart."""
    found: list[Config] = []
    for config in configs:
        if not any(_matters(tuner, other) == _matters(tuner, config) and other.pre_hook is config.pre_hook
                   for other in found):
            found.append(config)
    return found


def _prune_configs(original: Callable) -> Callable:
    @functools.wraps(original)
    def prune_configs(self, kwargs):
        left = original(self, kwargs)
        self.triad_configs = _different(self, left)
        return left
    return prune_configs


def _run(original: Callable) -> Callable:
    @functools.wraps(original)
    def run(self, *args, **kwargs):
        caches = vars(self).setdefault("triad_caches", {})
        self.cache = caches.setdefault(implementation.CONFIGURATION, {})
        try:
            return original(self, *args, **kwargs)
        finally:
            names = [", ".join(f"{k}={v}" for k, v in _matters(self, config).items())
                     for config in vars(self).get("triad_configs", ())]
            if len(names) > max(len(implementation.CONFIGURATIONS), 1):
                implementation.CONFIGURATIONS[:] = names
    return run


def _bench(original: Callable) -> Callable:
    """Tries the configuration that is asked for, and where it is none for these sizes those behind it."""
    @functools.wraps(original)
    def bench(self, *args, config, **meta):
        asked = self.triad_configs[implementation.CONFIGURATION % len(self.triad_configs)]
        if config is not asked and not vars(self).get("triad_wanting"):
            return [1.0, 1.0, 1.0]
        self.do_bench = _tried
        times = original(self, *args, config=config, **meta)
        self.triad_wanting = times[0] > 0
        return times
    return bench


def _tried(call: Callable[[], Any], quantiles: Any = None) -> list[float]:
    try:
        call()
    except Exception as e:
        if _is_static_assert(e):
            raise CompileTimeAssertionFailure(None, None, str(e)) from e
        raise
    return [0.0, 0.0, 0.0]


def _is_static_assert(e: BaseException) -> bool:
    """Whether a GPU's compiler would have refused the configuration."""
    while e.__cause__ is not None:
        e = e.__cause__
    frames = traceback.extract_tb(e.__traceback__)
    return isinstance(e, AssertionError) and frames[-1].name == "_new_static_assert"


CORRECTIONS = (
    (Autotuner, "prune_configs", _prune_configs(Autotuner.prune_configs)),
    (Autotuner, "run", _run(Autotuner.run)), (Autotuner, "_bench", _bench(Autotuner._bench)),
)
