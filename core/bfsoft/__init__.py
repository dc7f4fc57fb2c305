"""Policy-aware private data synthesis: domains, policy graphs, votes, their sensitivity, and the synthesis they drive."""

from .domain import Categorical, Domain, Hierarchical, Numeric
from .errors import BFSoftError
from .policy import Blocks, Complete, Edge, Edges, Policy, Threshold
from .records import Records
