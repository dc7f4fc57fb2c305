"""The scenario: everything a user sets, as one frozen value, and its YAML file both ways.

It holds the public side only (domain, policy, vote, budget, settings) and the *name* of the data, never a
record. The app's state, a share link, a notebook and the command line all carry this value.
"""

from __future__ import annotations

import difflib
import math
import numbers
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from . import _yaml
from .domain import Categorical, Domain, Hierarchical, Numeric
from .errors import BFSoftError, BudgetError, ScenarioError
from .policy import Blocks, Complete, Edges, Policy, Rule, Threshold

if TYPE_CHECKING:
    import pandas as pd

    from .privacy import Budget
    from .records import Records
    from .sensitivity import Sensitivity
    from .synthesis import Method, Run
    from .votes import Vote

_Path = tuple[Any, ...]
_DEFAULT_RHO = 1e-3
_KINDS = "numeric: [low, high], categories: [a, b, …] or tree: {group: [a, b], …}"
_RULES = "complete, threshold: θ, blocks: [[a, b], …] or edges: [[a, b], …]"
# What a file says in place of the one field `policy`, which knows its domain and participation.
_POLICY_KEYS = ("domain", "policy", "participation")


class _Misfit(ScenarioError):
    """A value that does not fit, with the path of keys to it, so that the reader of a file can add the line."""

    def __init__(self, path: _Path, message: str) -> None:
        self.path, self.message = path, message
        super().__init__(f"{_key(path)}: {message}" if path else message)


def _key(path: _Path) -> str:
    """``policy.age.blocks[0][1]``; positions count from 0."""
    text = ""
    for part in path:
        position = isinstance(part, int) and not isinstance(part, bool)
        text += f"[{part}]" if position and text else f"{'.' if text else ''}{part}"
    return text


class Scenario(BaseModel):
    """Everything a user sets, checked and frozen; equal scenarios are interchangeable and hash alike.

    Fields: ``title``; ``data``, a sample's name or a path, or None; ``policy``, which holds the domain and
    participation; ``method``, "BF-Soft", "Hard" or "Tab-PE"; ``tau``, the temperature of the soft vote, in
    distance units; ``rho`` (zCDP) or else ``epsilon``, with ``delta``; ``size`` m, the number of synthetic records;
    ``rounds``; ``shares`` of rho a round, equal when None; ``seed``; ``threshold`` H on noisy votes, in records;
    ``resampling``, "systematic" or "multinomial"; ``mutation``, "uniform" or "near" (THEORY, "Synthesis").

    Raises ScenarioError naming the key for a value that does not fit.

    >>> from bfsoft import Domain, Numeric, Policy, Threshold
    >>> policy = Policy(Domain([Numeric("age", 17, 90)]), {"age": Threshold(7)})
    >>> scenario = Scenario.of(policy, tau=0.05)
    >>> Scenario.loads(scenario.dumps()) == scenario
    True
    >>> scenario.replace(tau=0.1, policy={}).policy.reach
    0.0
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True, allow_inf_nan=False
    )

    title: str = ""
    data: str | None = None
    policy: Policy
    method: Literal["BF-Soft", "Hard", "Tab-PE"] = "BF-Soft"
    tau: float = Field(0.03, gt=0)
    rho: float | None = Field(None, gt=0)
    epsilon: float | None = Field(None, gt=0)
    delta: float = Field(1e-5, gt=0, lt=1)
    size: int = Field(512, ge=1)
    rounds: int = Field(8, ge=1)
    shares: tuple[float, ...] | None = None
    seed: int = Field(0, ge=0)
    threshold: float = Field(0.0, ge=0)
    resampling: Literal["systematic", "multinomial"] = "systematic"
    mutation: Literal["uniform", "near"] = "uniform"

    def __init__(self, /, **settings: Any) -> None:
        gathered = _gathered(settings)
        try:
            super().__init__(**gathered)
        except ValidationError as error:
            raise _misfit(error) from None
        _policy_spec(self.policy)  # a scenario that could not be saved is refused now, not when saving
        self._check_budget()  # nor one whose budget cannot be spent

    def _check_budget(self) -> None:
        try:
            budget = self.budget
        except BudgetError as error:
            key = "delta" if str(error).startswith("δ") else "epsilon" if self.rho is None else "rho"
            raise _Misfit((key,), str(error)) from None
        try:
            budget.split(self.rounds, self.shares)
        except BudgetError as error:
            raise _Misfit(("shares",), str(error)) from None

    @classmethod
    def of(cls, policy: Policy, **settings: Any) -> Scenario:
        """A scenario for a policy; ``settings`` are any of the other fields."""
        return cls(policy=policy, **settings)

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Scenario:
        """The scenario that a plain mapping describes, as a YAML or JSON file holds it; the inverse of ``plain``."""
        if not isinstance(plain, Mapping):
            if plain is None:
                raise _Misfit((), "is empty; a scenario needs a domain and a policy")
            raise _Misfit((), f"a scenario must be a mapping of keys to values, got {_short(plain)}")
        for key in ("domain", "policy"):
            if key not in plain:
                raise _Misfit((), f"the key {key!r} is missing; a scenario needs a domain and a policy ({{}} for none)")
        for key in plain:
            if not isinstance(key, str):
                raise _Misfit((key,), "is no key of a scenario")
        return cls(**plain)

    def replace(self, **changes: Any) -> Scenario:
        """The same scenario with some settings changed, and checked anew.

        Takes the fields, ``participation``, and ``domain``: the rules of attributes that a new domain still has
        carry over. ``epsilon`` takes the place of ``rho``, and the other way round.
        """
        kept = {name: getattr(self, name) for name in type(self).model_fields if name not in changes}
        if changes.get("epsilon") is not None and "rho" not in changes:
            kept["rho"] = None
        if changes.get("rho") is not None and "epsilon" not in changes:
            kept["epsilon"] = None
        if "policy" in changes or "domain" in changes:
            changes.setdefault("participation", _participation(changes.get("policy"), self.policy))
            changes.setdefault("domain", changes["policy"].domain if _is_policy(changes) else self.policy.domain)
            if "policy" not in changes:
                kept.pop("policy")
                domain = _domain(changes["domain"])
                rules = {name: rule for name, rule in self.policy.rules.items() if name in domain.names}
                changes |= {"domain": domain, "policy": rules}
        return type(self)(**{**kept, **changes})

    @property
    def domain(self) -> Domain:
        return self.policy.domain

    @property
    def participation(self) -> bool:
        return self.policy.participation

    @cached_property
    def budget(self) -> Budget:
        """The budget as set: from rho, or from epsilon and delta."""
        from .privacy import Budget

        if self.rho is not None:
            return Budget(rho=self.rho, delta=self.delta)
        return Budget(epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def vote_method(self) -> Method:
        """The method as the pair of vote and calibration in which the three methods differ."""
        from .synthesis import bf_soft, hard, tab_pe

        return {"BF-Soft": lambda: bf_soft(self.tau), "Hard": hard, "Tab-PE": tab_pe}[self.method]()

    @property
    def vote(self) -> Vote:
        """The vote that the method casts: soft at ``tau``, or hard."""
        return self.vote_method.vote

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The closed-form bound the method goes by: the policy's, or for Tab-PE, blind to policies, standard DP's."""
        from .sensitivity import full_sensitivity, sensitivity_bound

        if self.vote_method.calibration == "standard":
            return full_sensitivity(self.vote)
        return sensitivity_bound(self.policy, self.vote)

    def synthesize(self, records: pd.DataFrame | Records, on_round: Callable[[Any], Any] | None = None) -> Run:
        """Run the synthesis that this scenario describes on a table of its domain; see ``bfsoft.synthesize``."""
        from .synthesis import synthesize

        return synthesize(
            records, self.policy, self.vote, self.budget, size=self.size, rounds=self.rounds, seed=self.seed,
            shares=self.shares, threshold=self.threshold, resampling=self.resampling, mutation=self.mutation,
            calibration=self.vote_method.calibration, on_round=on_round,
        )  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """Nested dicts, lists, text and numbers, ready for YAML or JSON; ``of_plain`` reads it back."""
        settings: dict[str, Any] = {}
        for name in type(self).model_fields:
            if name == "policy":
                settings |= _policy_spec(self.policy)
            elif getattr(self, name) is not None:
                settings[name] = getattr(self, name)
        if self.shares is not None:
            settings["shares"] = list(self.shares)
        return settings

    @classmethod
    def loads(cls, text: str) -> Scenario:
        """Read a scenario from YAML text; raises ScenarioError naming the key and its line."""
        plain, lines = _yaml.read(text)
        try:
            return cls.of_plain(plain)
        except _Misfit as misfit:
            path = misfit.path
            while path and path not in lines:
                path = path[:-1]
            raise ScenarioError(f"line {lines[path]}, {misfit}" if path else str(misfit)) from None
        except RecursionError:
            raise ScenarioError("the YAML is nested too deeply") from None

    def dumps(self) -> str:
        """The scenario as YAML text."""
        return _yaml.write(self.plain())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a scenario file; raises ScenarioError naming the file, the key and its line."""
        try:
            with open(path, encoding="utf-8-sig") as file:
                text = file.read()
        except UnicodeDecodeError:
            raise ScenarioError(f"{path}: not UTF-8 text; is it a scenario file?") from None
        except OSError as error:
            raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            return cls.loads(text)
        except ScenarioError as error:
            raise ScenarioError(f"{path}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scenario file; a file of that name is replaced whole or not at all."""
        from .tables import atomic

        with atomic(path) as file:
            file.write(self.dumps().encode("utf-8"))


# ------------------------------------------------------------------ from settings to fields


def _gathered(settings: dict[str, Any]) -> dict[str, Any]:
    """The fields from settings: domain, policy and participation become one Policy, plain Python values the rest."""
    fields = {key: _pythonic(value) for key, value in settings.items() if key not in _POLICY_KEYS}
    fields["policy"] = _policy(settings)
    for name in fields:
        if name not in Scenario.model_fields:
            close = difflib.get_close_matches(name, [*Scenario.model_fields, *_POLICY_KEYS], 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; the keys are {', '.join(_all_keys())}"
            raise _Misfit((name,), f"is no key of a scenario{hint}")
    if isinstance(fields.get("data"), os.PathLike):
        fields["data"] = os.fspath(fields["data"])
    if isinstance(fields.get("shares"), list | np.ndarray):
        fields["shares"] = tuple(_pythonic(share) for share in fields["shares"])
    if fields.get("rho") is None and fields.get("epsilon") is None:
        fields["rho"] = _DEFAULT_RHO
    elif fields.get("rho") is not None and fields.get("epsilon") is not None:
        raise _Misfit(("epsilon",), "rho is given too; the budget is one of them, so keep one")
    _check_shares(fields.get("shares"), fields.get("rounds", Scenario.model_fields["rounds"].default))
    return fields


def _all_keys() -> list[str]:
    keys = list(Scenario.model_fields)
    at = keys.index("policy")
    return [*keys[:at], *_POLICY_KEYS, *keys[at + 1 :]]


def _check_shares(shares: Any, rounds: Any) -> None:
    if not isinstance(shares, tuple):
        return  # pydantic words the error for anything else
    if isinstance(rounds, int) and len(shares) != rounds:
        raise _Misfit(("shares",), f"{len(shares)} shares for {rounds} rounds; give one a round, or leave shares out")
    for position, share in enumerate(shares):
        if not _is_number(share) or not share > 0:
            raise _Misfit(("shares", position), f"a share must be a number above 0, got {share!r}")


def _misfit(error: ValidationError) -> _Misfit:
    first = error.errors(include_url=False)[0]
    message = first["msg"].replace("Input should be", "must be").replace("a valid ", "a ")
    message = message.replace("integer", "whole number").replace("valid string", "text").replace("string", "text")
    return _Misfit(first["loc"], f"{message[:1].lower()}{message[1:]}, got {_short(first['input'])}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _pythonic(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_policy(settings: Mapping[str, Any]) -> bool:
    return isinstance(settings.get("policy"), Policy)


def _participation(policy: Any, before: Policy) -> bool:
    return policy.participation if isinstance(policy, Policy) else before.participation


def _policy(settings: Mapping[str, Any]) -> Policy:
    given = settings.get("policy")
    if isinstance(given, Policy):
        domain = _domain(settings["domain"]) if "domain" in settings else given.domain
        if domain != given.domain:
            raise _Misfit(("policy",), "belongs to another domain than the one given; give one of the two")
        participation = settings.get("participation", given.participation)
    else:
        if "domain" not in settings:
            raise _Misfit(("domain",), "is missing; declare the attributes and their values")
        domain, participation = _domain(settings["domain"]), settings.get("participation", False)
    if not isinstance(participation, bool):
        raise _Misfit(("participation",), f"must be true or false, got {_short(participation)}")
    if isinstance(given, Policy):
        return given if participation == given.participation else Policy(domain, given.rules, participation)
    if not isinstance(given, Mapping):
        raise _Misfit(("policy",), f"must map attributes to rules ({_RULES}), got {_short(given)}")
    rules = {}
    for key, spec in given.items():
        name = _name(key, ("policy", key))
        if name not in domain.names:
            close = difflib.get_close_matches(name, domain.names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(domain.names)}"
            raise _Misfit(("policy", key), f"the domain has no attribute {name!r}; {hint}")
        rules[name] = _rule(spec, domain[name], ("policy", key))
    return Policy(domain, rules, participation)


# ------------------------------------------------------------------ from specifications to domain and rules


def _name(key: Any, path: _Path) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)  # a column named 2024, without quotes
    raise _Misfit(path, f"an attribute's name must be text, got {key!r}; put it in quotes")


def _domain(spec: Any) -> Domain:
    if isinstance(spec, Domain):
        return spec
    path = ("domain",)
    if not isinstance(spec, Mapping) or not spec:
        raise _Misfit(path, f"must map each attribute's name to its values ({_KINDS}), got {_short(spec)}")
    attributes, weights = [], {}
    for key, attribute in spec.items():
        name = _name(key, (*path, key))
        attributes.append(_attribute(name, attribute, (*path, key)))
        if "weight" in attribute:
            weight = _pythonic(attribute["weight"])
            if not _is_number(weight) or weight < 0:
                raise _Misfit((*path, key, "weight"), f"must be a number of 0 or more, got {weight!r}")
            weights[name] = weight
    return _placed(path, lambda: Domain(attributes, weights or None))


def _attribute(name: str, spec: Any, path: _Path) -> Numeric | Categorical | Hierarchical:
    if not isinstance(spec, Mapping):
        raise _Misfit(path, f"an attribute needs its values ({_KINDS}), got {_short(spec)}")
    kinds = [key for key in ("numeric", "categories", "tree") if key in spec]
    if len(kinds) != 1:
        raise _Misfit(path, f"{'two kinds of values' if kinds else 'no values'}; give one of {_KINDS}")
    kind = kinds[0]
    allowed = {kind, "weight"} | ({"step"} if kind == "numeric" else set())
    for key in spec:
        if key not in allowed:
            raise _Misfit((*path, key), f"is not understood here; besides {kind} there may be "
                          f"{'step and weight' if kind == 'numeric' else 'weight'}")  # fmt: skip
    values, here = spec[kind], (*path, kind)
    if kind == "numeric":
        if not isinstance(values, list | tuple) or len(values) != 2:
            raise _Misfit(here, f"must be [low, high], got {_short(values)}")
        step = spec.get("step", 1)
        if not _is_number(step) or step <= 0:
            raise _Misfit((*path, "step"), f"must be a number above 0, got {step!r}")
        return _placed(here, lambda: Numeric(name, values[0], values[1], step), name)
    if kind == "categories":
        if not isinstance(values, list | tuple):
            raise _Misfit(here, f"must be a list of values, got {_short(values)}")
        return _placed(here, lambda: Categorical(name, values), name)
    return _placed(here, lambda: Hierarchical(name, values), name)


def _rule(spec: Any, attribute: Any, path: _Path) -> Rule:
    if isinstance(spec, Rule):
        _placed(path, lambda: spec.check(attribute), attribute.name)
        return spec
    if spec == "complete":
        return Complete()
    if not isinstance(spec, Mapping) or len(spec) != 1:
        raise _Misfit(path, f"must be one rule ({_RULES}), got {_short(spec)}")
    kind, given = next(iter(spec.items()))
    here = (*path, kind)
    if kind == "threshold":
        rule: Rule = Threshold(given)
    elif kind in ("blocks", "edges"):
        _check_groups(given, kind, attribute, here)
        rule = Blocks(given) if kind == "blocks" else Edges([(a, b) for a, b in given])
    else:
        raise _Misfit(here, f"is no rule; use {_RULES}")
    _placed(here, lambda: rule.check(attribute), attribute.name)
    return rule


def _check_groups(groups: Any, kind: str, attribute: Any, path: _Path) -> None:
    """Blocks and edges are lists of lists of known values; said here, where each value's line is known."""
    if not isinstance(groups, list | tuple):
        raise _Misfit(path, f"must be a list of lists of values, got {_short(groups)}")
    for position, group in enumerate(groups):
        if not isinstance(group, list | tuple) or (kind == "edges" and len(group) != 2):
            what = "an edge must be a pair [a, b]" if kind == "edges" else "a block must be a list of values"
            raise _Misfit((*path, position), f"{what}, got {_short(group)}")
        for place, value in enumerate(group):
            _placed((*path, position, place), lambda value=value: attribute.code(value))  # type: ignore[misc]


def _placed(path: _Path, make: Callable[[], Any], name: str | None = None) -> Any:
    """What ``make`` returns; its complaint, if any, becomes one about the key at ``path``."""
    try:
        return make()
    except (BFSoftError, OverflowError) as error:
        text = str(error)
        for said in (f"attribute {name!r}: ", f"attribute {name!r} ", f"{name!r}: "):
            text = text.removeprefix(said) if name is not None else text
        raise _Misfit(path, text) from None


# ------------------------------------------------------------------ from domain and rules to specifications


def _policy_spec(policy: Policy) -> dict[str, Any]:
    domain = policy.domain
    weights = _weights(domain)
    attributes = {}
    for attribute in domain.attributes:
        attributes[attribute.name] = _attribute_spec(attribute)
        if weights is not None:
            attributes[attribute.name]["weight"] = weights[attribute.name]
    return {
        "domain": attributes,
        "policy": {name: _rule_spec(name, rule) for name, rule in policy.rules.items()},
        "participation": policy.participation,
    }


def _weights(domain: Domain) -> dict[str, float] | None:
    """Weights that normalise to exactly the domain's own: None for equal ones, decimals if they do, else whole."""
    if len(set(domain.exact_weights)) == 1:
        return None
    if Domain(domain.attributes, domain.weights).exact_weights == domain.exact_weights:
        return domain.weights
    common = math.lcm(*(weight.denominator for weight in domain.exact_weights))
    return {name: int(weight * common) for name, weight in zip(domain.names, domain.exact_weights, strict=True)}


def _attribute_spec(attribute: Any) -> dict[str, Any]:
    name = attribute.name
    if attribute.kind == "numeric":
        low, high, step = (_written(name, bound) for bound in (attribute.low, attribute.high, attribute.step))
        return {"numeric": [low, high]} if step == 1 else {"numeric": [low, high], "step": step}
    if attribute.kind == "categorical":
        return {"categories": [_written(name, value) for value in attribute.categories]}
    return {"tree": _tree_spec(name, attribute.tree)}


def _tree_spec(name: str, node: Any) -> Any:
    if isinstance(node, Mapping):
        return {_written(name, key): _tree_spec(name, child) for key, child in node.items()}
    if isinstance(node, tuple):
        return [_tree_spec(name, child) for child in node]
    return node if node is None else _written(name, node)


def _rule_spec(name: str, rule: Rule) -> Any:
    if isinstance(rule, Threshold):
        return {"threshold": _written(name, rule.theta)}
    if isinstance(rule, Blocks):
        return {"blocks": [[_written(name, value) for value in block] for block in rule.blocks]}
    if isinstance(rule, Edges):
        return {"edges": [[_written(name, a), _written(name, b)] for a, b in rule.edges]}
    if isinstance(rule, Complete):
        return "complete"
    raise _Misfit(("policy", name), f"{rule!r} cannot be written to a file; use {_RULES}")


def _written(name: str, value: Any) -> Any:
    """A value as a file holds it; exact types only, since a subclass would come back as its base."""
    value = _pythonic(value)
    if type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Real) and float(value) == value:
        number = float(value)
        return int(number) if number.is_integer() and isinstance(value, numbers.Rational) else number
    raise _Misfit(("domain", name), f"the value {value!r} cannot be written to a file; use text or a number")
