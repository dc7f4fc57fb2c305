"""The policy canvas in a notebook: an anywidget around the same module, with ``policy`` and ``tau`` always current."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from bfsoft.policy import Policy

from . import SCRIPT, STYLE
from ._contract import canvas_data, committed_policy


class PolicyCanvas(anywidget.AnyWidget):
    """Draw a policy; ``canvas.policy`` and ``canvas.tau`` are what is drawn, and may be set from Python too.

    ``attribute`` is the one shown (the first by default); a chooser in the canvas changes it. ``budget``, if given,
    adds the exact ε to the read-outs.

    >>> from bfsoft import Domain, Numeric, Threshold
    >>> canvas = PolicyCanvas(Policy(Domain([Numeric("age", 17, 90)]), {"age": Threshold(7)}))
    >>> canvas.policy.rules
    {'age': Threshold(theta=7)}
    """

    _esm = SCRIPT
    _css = STYLE

    policy = traitlets.Instance(Policy)
    tau = traitlets.Float(0.03)
    budget = traitlets.Any(None, allow_none=True)
    attribute = traitlets.Unicode().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    committed = traitlets.Dict().tag(sync=True)

    def __init__(self, policy: Policy, attribute: str | None = None, tau: float = 0.03, budget: Any = None) -> None:
        name = policy.domain.names[0] if attribute is None else attribute
        policy.domain.position(name)
        self._revision = 0
        super().__init__(policy=policy, attribute=name, tau=tau, budget=budget)
        self._show()

    @traitlets.validate("tau")
    def _positive(self, proposal: Any) -> float:
        if not proposal["value"] > 0:
            raise traitlets.TraitError(f"the temperature tau must be above 0, got {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("attribute")
    def _known(self, proposal: Any) -> str:
        self.policy.domain.position(proposal["value"])
        return proposal["value"]

    @traitlets.observe("policy", "tau", "budget", "attribute")
    def _show(self, change: Any = None) -> None:
        if not self.attribute:
            return
        names = self.policy.domain.names
        if self.attribute not in names:
            self.attribute = names[0]
            return
        self.data = canvas_data(
            self.policy,
            self.attribute,
            tau=self.tau,
            budget=self.budget,
            revision=self._revision,
            chooser=names if len(names) > 1 else None,
        )

    @traitlets.observe("committed")
    def _take(self, change: Any) -> None:
        committed = change["new"]
        if not committed:
            return
        self._revision = committed["revision"]
        # one picture back for the whole edit, or the canvas would first be told its new policy with the old tau
        with self.hold_trait_notifications():
            self.policy = committed_policy(self.policy, committed)
            self.tau = float(committed["tau"])
