"""Differences: what sets one scenario apart from another, key by key as their files have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scenario import Scenario

_MOST_LISTED = 12
_ABSENT = object()
# Both say the budget: a file has one of them, and a change from one to the other is a single change.
_BUDGET = ("rho", "epsilon")


@dataclass(frozen=True)
class Difference:
    """One key that differs: its path, such as ``policy.age``, and what either scenario has there, as text.

    "—" stands for a key that a scenario does not have, or leaves empty.
    """

    key: str
    here: str
    there: str

    def __str__(self) -> str:
        return f"{self.key}: {self.here} → {self.there}"


def differences(here: Scenario, there: Scenario) -> list[Difference]:
    """Every key in which two scenarios differ, in the order of the file; empty for equal scenarios.

    Attributes and rules are compared by name, so that reordering them shows as one difference, of the order.

    >>> from bfsoft import Domain, Numeric, Policy, Scenario, Threshold
    >>> near = Scenario.of(Policy(Domain([Numeric("age", 17, 90)]), {"age": Threshold(7)}))
    >>> far = near.replace(policy=near.policy.with_rule("age", Threshold(9)), tau=0.05)
    >>> [str(each) for each in differences(near, far)]
    ['policy.age: threshold 7 → threshold 9', 'tau: 0.03 → 0.05']
    """
    found = []
    a, b = here.plain(), there.plain()
    for key in [*a, *(key for key in b if key not in a)]:
        if key in ("domain", "policy"):
            found += [*_by_name(key, a.get(key, {}), b.get(key, {}))]
        elif key not in _BUDGET and a.get(key, _ABSENT) != b.get(key, _ABSENT):
            found.append(Difference(key, _said(a.get(key, _ABSENT)), _said(b.get(key, _ABSENT))))
        elif key in _BUDGET and _budget(a) != _budget(b) and not any(each.key == "budget" for each in found):
            found.append(Difference("budget", _budget(a), _budget(b)))
    return found


def _budget(plain: Mapping[str, Any]) -> str:
    return next(f"{name} {plain[name]!r}" for name in _BUDGET if plain.get(name) is not None)


def _by_name(what: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    shared = [name for name in a if name in b]
    for name in [*a, *(name for name in b if name not in a)]:
        if a.get(name, _ABSENT) != b.get(name, _ABSENT) or _order(a.get(name)) != _order(b.get(name)):
            here, there = _said(a.get(name, _ABSENT)), _said(b.get(name, _ABSENT))
            if here == there:  # alike but in what the text leaves out
                here, there = _said(a[name], whole=True), _said(b[name], whole=True)
            yield Difference(f"{what}.{name}", here, there)
    if what == "domain" and shared != [name for name in b if name in a]:
        yield Difference("domain (order)", ", ".join(a), ", ".join(b))


def _order(value: Any) -> Any:
    """The value with the order of its mappings, which equality of mappings does not mind but a tree does."""
    return [(key, _order(child)) for key, child in value.items()] if isinstance(value, Mapping) else value


def _said(value: Any, whole: bool = False) -> str:
    """A value as people read it: ``numeric 17 to 90``, ``threshold 7``, ``3 blocks``."""
    if value is _ABSENT or value is None or value == "":
        return "—"
    if isinstance(value, Mapping):
        return ", ".join(_part(key, part, whole) for key, part in value.items())
    if isinstance(value, list | tuple):
        return _listed(value, whole)
    return str(value) if not isinstance(value, bool) else ("yes" if value else "no")


def _part(key: str, value: Any, whole: bool) -> str:
    if key == "numeric":
        return f"numeric {value[0]} to {value[1]}"
    if key in ("blocks", "edges") and not whole:
        return f"{len(value)} {key if len(value) != 1 else key.removesuffix('s')}"
    if isinstance(value, Mapping):
        return f"{key} ({_said(value, whole)})"
    return f"{key} {_said(value, whole)}"


def _listed(values: Any, whole: bool) -> str:
    shown = [f"({_listed(value, whole)})" if isinstance(value, list | tuple) else str(value) for value in values]
    if len(shown) > _MOST_LISTED and not whole:
        return f"{', '.join(shown[:_MOST_LISTED])}, … ({len(shown)})"
    return ", ".join(shown)
