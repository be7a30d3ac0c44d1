"""In which order the resolution runs: a walk along the calls, in evaluation order.

A function is walked where it is first called. What is called again runs again; that is only kept
as the last position at which a function was called.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sgcheck.graph.code import Place
from sgcheck.graph.reach import CallSite, Reach
from sgcheck.syntax.rules import Rule


@dataclass(slots=True)
class Order:
    """Positions count up from 0 in the order of a run that takes every branch."""

    places: list[Place] = field(default_factory=list)
    entered: dict[Place, int] = field(default_factory=dict)
    again: dict[Place, int] = field(default_factory=dict)
    positions: dict[tuple[Place, int], int] = field(default_factory=dict)

    def of(self, rule: Rule, place: Place) -> int:
        """The position of a rule of a function."""
        return self.positions[place, id(rule)]


def order_of(reach: Reach) -> Order:
    """Walk a reach from its entries; what is left over (registered, never called) comes last."""
    order = Order()
    count = 0
    waiting = [*reach.entries, *(place for place in reach.functions)]
    for start in waiting:
        if start in order.entered:
            continue
        # An explicit stack: call chains of a tree may be deeper than Python's own.
        stack = [iter(_steps(reach, start))]
        order.entered[start] = count
        order.places.append(start)
        count += 1
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                continue
            if isinstance(step, CallSite):
                if step.callee not in reach.functions:
                    continue
                if step.callee in order.entered:
                    order.again[step.callee] = count
                    continue
                order.entered[step.callee] = count
                order.places.append(step.callee)
                count += 1
                stack.append(iter(_steps(reach, step.callee)))
            else:
                place, rule = step
                order.positions[place, id(rule)] = count
                count += 1
    return order


def _steps(reach: Reach, place: Place) -> list[CallSite | tuple[Place, Rule]]:
    """What one function does in order: the functions that a rule runs, then the rule itself."""
    by_rule: dict[int, list[CallSite]] = {}
    late: list[CallSite] = []
    for site in reach.sites(place):
        if site.rule is None:
            late.append(site)
        else:
            by_rule.setdefault(id(site.rule), []).append(site)
    steps: list[CallSite | tuple[Place, Rule]] = []
    for rule in reach.code.rules_in(place):
        steps += by_rule.get(id(rule), ())
        steps.append((place, rule))
    return [*steps, *late]
