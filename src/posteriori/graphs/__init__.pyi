from posteriori.graphs.directed_graph import DirectedGraph as DirectedGraph
from posteriori.graphs.independence_claims import (
    IndependenceClaim as IndependenceClaim,
    compare_independences as compare_independences,
)
from posteriori.graphs.junction_tree import JunctionTree as JunctionTree
from posteriori.graphs.node_sets import NodeSet as NodeSet
from posteriori.graphs.paths import GraphPath as GraphPath, Separation as Separation
from posteriori.graphs.undirected_graph import UndirectedGraph as UndirectedGraph
