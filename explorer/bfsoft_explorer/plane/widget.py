"""The boundary plane in a notebook: an anywidget around the same module, with what is drawn always current."""

from __future__ import annotations

from typing import Any

import anywidget
import numpy as np
import traitlets

from bfsoft.crossings import Plane, plane
from bfsoft.domain import Codes
from bfsoft.policy import Policy

from . import SCRIPT, STYLE
from ._contract import committed_edit, plane_data


class BoundaryPlane(anywidget.AnyWidget):
    """Explore where votes jump; ``candidates``, ``record``, ``policy``, ``tau`` and ``vote`` are what is drawn.

    ``across`` and ``down`` name the two attributes of the plane, the first two by default; the others stay as in
    ``record``, (d,) codes. Raises DomainError for a domain of one attribute.

    >>> from bfsoft import Domain, Numeric, Threshold
    >>> domain = Domain([Numeric("age", 17, 90), Numeric("hours", 1, 99)])
    >>> shown = BoundaryPlane(Policy(domain, {"age": Threshold(7)}), np.array([[3, 20], [40, 60]]))
    >>> shown.across, shown.down
    ('age', 'hours')
    """

    _esm = SCRIPT
    _css = STYLE

    policy = traitlets.Instance(Policy)
    candidates = traitlets.Instance(np.ndarray)
    record = traitlets.Instance(np.ndarray)
    tau = traitlets.Float(0.03)
    vote = traitlets.Enum(["hard", "soft"], "soft")
    across = traitlets.Unicode()
    down = traitlets.Unicode()
    data = traitlets.Dict().tag(sync=True)
    committed = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        policy: Policy,
        candidates: Codes,
        across: str | None = None,
        down: str | None = None,
        record: Codes | None = None,
        tau: float = 0.03,
        vote: str = "soft",
    ) -> None:
        names = policy.domain.names
        across = names[0] if across is None else across
        down = next((name for name in names if name != across), across) if down is None else down
        shown = plane(policy.domain, across, down, record)
        self._revision = 0
        super().__init__(
            policy=policy, candidates=policy.domain.check_codes(candidates, "candidates"), record=shown.record,
            tau=tau, vote=vote, across=across, down=down,
        )  # fmt: skip
        self._show()

    @property
    def plane(self) -> Plane:
        """The plane that is drawn."""
        return plane(self.policy.domain, self.across, self.down, self.record)

    @traitlets.validate("tau")
    def _positive(self, proposal: Any) -> float:
        if not proposal["value"] > 0:
            raise traitlets.TraitError(f"the temperature tau must be above 0, got {proposal['value']!r}")
        return proposal["value"]

    @traitlets.observe("policy", "candidates", "record", "tau", "vote", "across", "down")
    def _show(self, change: Any = None) -> None:
        if not self.across or not self.down:
            return
        self.data = plane_data(
            self.policy, self.plane, self.candidates, tau=self.tau, vote=self.vote, revision=self._revision
        )

    @traitlets.observe("committed")
    def _take(self, change: Any) -> None:
        if not change["new"]:
            return
        self._revision = change["new"]["revision"]
        edit = committed_edit(self.policy, self.plane, change["new"])
        # one picture back for the whole edit, not one a trait
        with self.hold_trait_notifications():
            self.policy, self.record, self.tau, self.vote = edit.policy, edit.record, edit.tau, edit.vote
            if edit.candidates is not None:
                self.candidates = edit.candidates
