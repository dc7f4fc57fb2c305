"""Policy-aware private data synthesis: domains, policy graphs, votes, their sensitivity, and the synthesis."""

from typing import TYPE_CHECKING

from .crossings import Crossings, crossings
from .domain import Categorical, Domain, Hierarchical, Numeric
from .errors import BFSoftError
from .fidelity import Fidelity
from .policy import Blocks, Complete, Edge, Edges, Policy, Threshold
from .privacy import Budget, ReleaseNoise, SimulationNoise
from .protection import Protection
from .records import Records
from .samples import load_data, load_sample, load_scenario, policies, samples, staff, xor3
from .sensitivity import RecordEdge, Sensitivity, crossing_edge, exact_sensitivity, sensitivity_bound
from .synthesis import Method, Round, Run, Schedule, bf_soft, evolve, hard, synthesize, tab_pe
from .tables import read_table, write_table
from .votes import HardVote, SoftVote

if TYPE_CHECKING:
    from . import experiments
    from .experiments import compare, crossover, decompose, pilot, summarise, sweep
    from .reproduction import reproduce
    from .scenario import Scenario

# Loaded when asked for: a scenario needs pydantic, and experiments are not for those who only compute.
_LATE = {
    "Scenario": "scenario",
    "reproduce": "reproduction",
    **dict.fromkeys(("compare", "crossover", "decompose", "pilot", "summarise", "sweep"), "experiments"),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "experiments":
        return import_module(".experiments", __name__)
    if name in _LATE:
        return getattr(import_module(f".{_LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
