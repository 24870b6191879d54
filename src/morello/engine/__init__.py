"""Solving a hypergraph in flat arrays under memory limits. It knows nothing of tensors."""

from morello.engine.arrays import INFINITE as INFINITE
from morello.engine.groups import by_group as by_group
from morello.engine.groups import rules_within as rules_within
from morello.engine.hashing import find as find
from morello.engine.hashing import merge as merge
from morello.engine.hashing import minima as minima
from morello.engine.hypergraph import Bounds as Bounds
from morello.engine.hypergraph import Hypergraph as Hypergraph
from morello.engine.hypergraph import Problem as Problem
from morello.engine.hypergraph import bounds as bounds
from morello.engine.hypergraph import memory_left as memory_left
from morello.engine.hypergraph import most_memory as most_memory
from morello.engine.hypergraph import unlimited as unlimited
from morello.engine.limits import fits as fits
from morello.engine.limits import larger as larger
from morello.engine.solver import FILLED as FILLED
from morello.engine.solver import TRIED as TRIED
from morello.engine.solver import Boxes as Boxes
from morello.engine.solver import link as link
from morello.engine.solver import solve as solve
from morello.engine.solver import stack as stack
