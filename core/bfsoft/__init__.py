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
    from .scenario import Scenario


def __getattr__(name: str) -> object:
    # Scenario needs pydantic, whose import is too slow for those who only compute.
    if name == "Scenario":
        from .scenario import Scenario

        return Scenario
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
