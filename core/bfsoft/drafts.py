"""Drafts: a domain as text that a person is still typing, with every mistake told at its field and nothing lost.

A draft may be wrong in any way; ``check`` turns a list of drafts into a Domain, or into problems. ``carried`` takes a
policy over to the new domain as far as it fits. Nothing here reads data.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .domain import Categorical, Domain, Hierarchical, Numeric, rational
from .errors import BFSoftError, DomainError
from .policy import Blocks, Complete, Edges, Policy, Rule, Threshold
from .wording import written_out

KINDS = ("numeric", "categorical", "hierarchical")
_MOST_PREFILLED = 500
# Weights as whole numbers must still be finite as floats; this leaves room for their sum.
_MOST_WEIGHT = 10**300


@dataclass(frozen=True)
class AttributeDraft:
    """One attribute as typed. All fields are text but ``key``, which tells drafts apart while they are renamed.

    ``categories`` has one value a line, ``tree`` one node a line, children indented below their parent. ``origin``
    names the attribute of the policy that this draft began as, if any; ``known`` are the values it began with, whose
    types (the number 1, not the text "1") the text keeps. ``note`` is what a guess has to say.
    """

    key: int
    name: str = ""
    kind: str = "numeric"
    low: str = "0"
    high: str = "100"
    step: str = "1"
    categories: str = ""
    tree: str = ""
    weight: str = "1"
    origin: str | None = None
    known: tuple[Any, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, key: int, attribute: Any, weight: Fraction | None = None, note: str = "") -> AttributeDraft:
        """The draft that ``check`` turns back into this very attribute."""
        draft = cls(key, attribute.name, attribute.kind, note=note, weight="1" if weight is None else _decimal(weight))
        if attribute.kind == "numeric":
            low, high, step = (_decimal(rational(bound)) for bound in (attribute.low, attribute.high, attribute.step))
            return dataclasses.replace(draft, low=low, high=high, step=step)
        if attribute.kind == "categorical":
            text = "\n".join(_line(value) for value in attribute.values)
            return dataclasses.replace(draft, categories=text, known=attribute.values)
        return dataclasses.replace(draft, tree="\n".join(_outline(attribute.tree, 0)), known=attribute.values)

    def recast(self, kind: str) -> AttributeDraft:
        """The draft as another kind; its values come along where the new kind has none of its own."""
        values: list[str] = []
        if self.kind == "numeric":
            try:
                grid = self._numeric({})
                if grid is not None and len(grid.values) <= _MOST_PREFILLED:
                    values = [_line(value) for value in grid.values]
            except DomainError:
                pass
        elif self.kind == "categorical":
            values = [line.strip() for line in self.categories.splitlines() if line.strip()]
        else:
            nodes = [line for line in _nodes(self.tree) if line.leaf]
            values = [node.text for node in nodes]
        draft = dataclasses.replace(self, kind=kind)
        if kind == "categorical" and (not self.categories or self.kind == "hierarchical"):
            return dataclasses.replace(draft, categories="\n".join(values))
        if kind == "hierarchical" and not self.tree:
            return dataclasses.replace(draft, tree="\n".join(values))
        return draft

    def summary(self) -> str:
        """The values in a few words, as far as they can be read."""
        if self.kind == "numeric":
            step = "" if self.step.strip() == "1" else f" by {self.step.strip()}"
            return f"{self.low.strip()} to {self.high.strip()}{step}"
        if self.kind == "categorical":
            count = len([line for line in self.categories.splitlines() if line.strip()])
            return f"{count} {'category' if count == 1 else 'categories'}"
        nodes = _nodes(self.tree)
        leaves = sum(node.leaf for node in nodes)
        return f"{leaves} values in {len(nodes) - leaves} groups"

    def attribute(self, problems: dict[str, str]) -> Any:
        """The attribute, or None with each mistake put into ``problems`` under the name of its field."""
        if not self.name.strip():
            problems["name"] = "give the attribute a name"
        try:
            if self.kind == "numeric":
                return self._numeric(problems)
            return self._categorical(problems) if self.kind == "categorical" else self._hierarchical(problems)
        except DomainError as error:
            if self.name.strip():
                problems.setdefault(_field(self.kind, str(error)), _shortened(str(error), self.name.strip()))
            return None

    def _numeric(self, problems: dict[str, str]) -> Numeric | None:
        numbers = {}
        for field in ("low", "high", "step"):
            number = _number(getattr(self, field))
            if number is None:
                problems[field] = _no_number(getattr(self, field))
            else:
                numbers[field] = number
        return Numeric(self.name.strip(), **numbers) if len(numbers) == 3 else None

    def _categorical(self, problems: dict[str, str]) -> Categorical | None:
        values = []
        for position, line in enumerate(self.categories.splitlines(), start=1):
            if line.strip():
                try:
                    values.append(self._value(line.strip()))
                except ValueError:
                    problems["categories"] = (
                        f"line {position}: the quotation marks do not match; a plain line needs none"
                    )
        if not values and "categories" not in problems:
            problems["categories"] = "list at least one category, one a line"
        return None if "categories" in problems else Categorical(self.name.strip(), values)

    def _hierarchical(self, problems: dict[str, str]) -> Hierarchical | None:
        nodes = _nodes(self.tree)
        if not nodes:
            problems["tree"] = "write one value a line; indent values below the group they belong to"
            return None
        root: dict[Any, Any] = {}
        path: list[tuple[int, dict[Any, Any]]] = [(-1, root)]
        for node in nodes:
            while path[-1][0] >= node.indent:
                path.pop()
            parent = path[-1][1]
            try:
                name = self._value(node.text) if node.leaf else str(_unquoted(node.text))
            except ValueError:
                problems["tree"] = f"line {node.line}: the quotation marks do not match; a plain line needs none"
                return None
            if name in parent:
                problems["tree"] = f"line {node.line}: {name!r} is there already; write it once"
                return None
            parent[name] = None if node.leaf else {}
            if not node.leaf:
                path.append((node.indent, parent[name]))
        return Hierarchical(self.name.strip(), root)

    def _value(self, text: str) -> Any:
        """What a line means: a value it began with, a number among numbers, else text."""
        plain = _unquoted(text)
        for value in self.known:
            if _line(value) == text or str(value) == plain:
                return value
        numbers = self.known and all(isinstance(value, int) and not isinstance(value, bool) for value in self.known)
        number = _number(plain) if numbers else None
        return number if isinstance(number, int) else plain


@dataclass(frozen=True)
class Problem:
    """A mistake: which draft, which of its fields, and what to do about it."""

    key: int
    field: str
    message: str


def check(drafts: Sequence[AttributeDraft]) -> tuple[Domain | None, list[Problem]]:
    """The domain that the drafts describe, or None and every mistake in them.

    >>> check([AttributeDraft(0, "age", low="17", high="9O")])[1]
    [Problem(key=0, field='high', message="'9O' is not a number")]
    """
    problems: list[Problem] = []
    attributes, weights = [], []
    names = [draft.name.strip() for draft in drafts]
    for draft in drafts:
        own: dict[str, str] = {}
        attributes.append(draft.attribute(own))
        if draft.name.strip() and names.count(draft.name.strip()) > 1:
            own["name"] = f"another attribute is named {draft.name.strip()!r} too; rename one"
        try:
            weight = _weight(draft.weight)
            if weight < 0:
                own["weight"] = "a weight must be 0 or more"
        except (ValueError, ZeroDivisionError):
            weight = Fraction(0)
            own["weight"] = f"{_no_number(draft.weight)}; 0.4, 2 and 1/3 are"
        weights.append(weight)
        problems += [Problem(draft.key, field, message) for field, message in own.items()]
    if not drafts:
        return None, problems
    if not problems and not sum(weights):
        problems = [Problem(draft.key, "weight", "all weights are 0; give one attribute some") for draft in drafts]
    if problems:
        return None, problems
    common = math.lcm(*(weight.denominator for weight in weights))
    whole = {name: int(weight * common) for name, weight in zip(names, weights, strict=True)}
    largest = max(whole.values())
    if largest > _MOST_WEIGHT:
        at = next(draft for draft in drafts if whole[draft.name.strip()] == largest)
        message = "too large beside the others: only the proportions of weights count, so 1 and 2 do as well"
        return None, [Problem(at.key, "weight", message)]
    return Domain(attributes, whole), []


def drafts_of(domain: Domain) -> list[AttributeDraft]:
    """The drafts of a domain's attributes, keyed 0, 1, …; ``check`` turns them back into the same domain."""
    return [
        dataclasses.replace(AttributeDraft.of(key, attribute, weight), origin=attribute.name)
        for key, (attribute, weight) in enumerate(zip(domain.attributes, domain.exact_weights, strict=True))
    ]


def carried(policy: Policy, domain: Domain, origins: Mapping[str, str | None]) -> tuple[Policy, list[str]]:
    """The policy on another domain, and what of it could not come along, in words.

    ``origins`` says for each attribute of the new domain which of the old it was. Rules follow a renamed attribute;
    blocks and edges keep the values that are still there.
    """
    rules: dict[str, Rule] = {}
    lost: list[str] = []
    kept = {old for old in origins.values() if old is not None}
    for name in policy.rules:
        if name not in kept and policy.edge_count(name):
            lost.append(f"{name} is gone, and its rule with it")
    for attribute in domain.attributes:
        old = origins.get(attribute.name)
        rule = policy.rules.get(old) if old is not None else None
        if rule is None or old is None:
            continue
        fitting = _fitting(rule, policy.domain[old], attribute)
        if fitting is None:
            lost.append(f"{attribute.name}: its rule does not fit its new values; draw it again")
        else:
            rules[attribute.name] = fitting
            fewer = policy.edge_count(old) - _known_edges(rule, policy.domain[old], attribute)
            if fewer > 0:
                lost.append(f"{attribute.name}: {fewer:,} {'edge' if fewer == 1 else 'edges'} to values that are gone")
    return Policy(domain, rules, policy.participation), lost


def _fitting(rule: Rule, old: Any, new: Any) -> Rule | None:
    """The part of a rule that a changed attribute can still carry; None when nothing of it can."""
    if isinstance(rule, Complete):
        return rule
    if isinstance(rule, Threshold):
        return rule if old.kind == new.kind else None
    if isinstance(rule, Blocks):
        blocks = [[value for value in block if _has(new, value)] for block in rule.blocks]
        blocks = [block for block in blocks if block]
        return Blocks(blocks) if blocks else None
    if isinstance(rule, Edges):
        edges = [(a, b) for a, b in rule.edges if _has(new, a) and _has(new, b)]
        return Edges(edges) if edges else None
    return None


def _known_edges(rule: Rule, old: Any, new: Any) -> int:
    if isinstance(rule, Blocks | Edges):
        fitting = _fitting(rule, old, new)
        return fitting.count(new) if fitting else 0
    return rule.count(old)


def _has(attribute: Any, value: Any) -> bool:
    try:
        attribute.code(value)
    except BFSoftError:
        return False
    return True


# ------------------------------------------------------------------ text


@dataclass(frozen=True)
class _Node:
    line: int
    indent: int
    text: str
    leaf: bool


def _nodes(outline: str) -> list[_Node]:
    """The nodes of an outline; a node is a leaf when the next one is not indented below it."""
    lines = [
        (number, len(line) - len(line.lstrip()), line.strip())
        for number, line in enumerate(outline.expandtabs(4).splitlines(), start=1)
        if line.strip()
    ]
    indents = [indent for _, indent, _ in lines] + [-1]
    return [_Node(number, indent, text, indents[at + 1] <= indent) for at, (number, indent, text) in enumerate(lines)]


def _outline(tree: Any, depth: int) -> Iterable[str]:
    if isinstance(tree, Mapping):
        for name, child in tree.items():
            yield "  " * depth + _line(name)
            if child is not None:
                yield from _outline(child, depth + 1)
    else:
        for child in tree:
            if isinstance(child, Mapping | tuple):
                yield from _outline(child, depth)
            else:
                yield "  " * depth + _line(child)


def _line(value: Any) -> str:
    """A value on a line of its own; in quotes where a plain line would not bring it back."""
    text = str(value)
    plain = (
        text and text == text.strip() and len(text.splitlines()) == 1 and not text.startswith('"') and "\t" not in text
    )
    # Unicode has line breaks of its own, which JSON leaves as they are unless it writes ASCII.
    return text if plain else json.dumps(text, ensure_ascii=text.splitlines() != [text])


def _unquoted(text: str) -> str:
    """The text of a line; raises ValueError when it opens with a quotation mark and is no quoted text."""
    return str(json.loads(text)) if text.startswith('"') else text


def _number(text: str) -> float | None:
    """A whole number as int, any other finite number as float, None for what is no number."""
    try:
        number = float(Fraction(text.strip())) if "/" in text else float(text.strip())
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    try:
        return int(text.strip())
    except ValueError:
        return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _weight(text: str) -> Fraction:
    """A weight exactly as written; raises ValueError or ZeroDivisionError for what is no number.

    Exponents beyond a float's are not spelt out, which could take for ever: 1e-999999 is 0, and 1e999999 too large.
    """
    plain = text.strip().replace(" ", "")
    if "/" not in plain:
        rough = float(plain)
        if rough == 0 or math.isinf(rough):
            return Fraction(0) if rough == 0 else Fraction(math.copysign(1, rough)) * 10 * _MOST_WEIGHT
    return Fraction(plain)


def _no_number(text: str) -> str:
    if not text.strip():
        return "give a number"
    if _number(text.replace(",", ".")) is not None:
        return f"{text.strip()!r} is not a number; write a point for the decimal comma"
    return f"{text.strip()!r} is not a number"


def _decimal(number: Fraction) -> str:
    """The shortest text that means exactly this number: 0.2, 17, 1e300, or 1/3."""
    written = repr(written_out(number)).replace("e+", "e")
    return written if Fraction(written) == number else str(number)


def _field(kind: str, message: str) -> str:
    """The field that a complaint of the attribute itself is about."""
    if kind != "numeric":
        return "categories" if kind == "categorical" else "tree"
    if "swap them" in message or "is not low" in message:
        return "high"
    return "step"


def _shortened(message: str, name: str) -> str:
    for said in (f"attribute {name!r}: ", f"attribute {name!r} "):
        message = message.removeprefix(said)
    return message
