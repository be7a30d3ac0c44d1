"""The type of the graph. networkx itself is imported only where a graph is made or searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import networkx as nx

    RuleGraph: TypeAlias = nx.MultiDiGraph[str]
else:
    RuleGraph = Any

Data: TypeAlias = dict[str, Any]
"""The attributes of a node or an edge."""
