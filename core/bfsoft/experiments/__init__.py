"""Experiments: many seeded syntheses on public data, as tidy frames with intervals (paper §6).

``compare``, ``sweep``, ``decompose``, ``compare_policies``, ``matched_noise``, ``training_size``, ``calibration`` and
``pilot`` run them; ``summarise``, ``gains``, ``significance`` and ``crossover`` read them.
"""

from .analysis import crossover, gains, holm, significance, summarise, t_interval
from .forecast import Pilot, agreement, pilot
from .studies import (
    Borrowed,
    calibration,
    compare,
    compare_policies,
    decompose,
    matched_noise,
    sample,
    split,
    sweep,
    temperature_for,
    training_size,
)
from .trials import Arm, Bench, Progress, Trial, run_trials

__all__ = [
    "Arm", "Bench", "Borrowed", "Pilot", "Progress", "Trial", "agreement", "calibration", "compare", "compare_policies",
    "crossover", "decompose", "gains", "holm", "matched_noise", "pilot", "run_trials", "sample", "significance",
    "split", "summarise", "sweep", "t_interval", "temperature_for", "training_size",
]  # fmt: skip
