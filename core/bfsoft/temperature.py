"""Temperature: what τ buys in noise, and what it costs in the sharpness of votes, as tidy frames over τ.

The gain follows from the policy alone; the cost needs a table and candidates, and reads them exactly: for public
data. Neither knows how good a synthetic table becomes; that is what experiments are for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .domain import Codes, Domain
from .errors import VoteError
from .policy import Policy
from .privacy import Budget, noise_scale
from .records import Records
from .sensitivity import SQRT2, sensitivity_bound, shift_ratio
from .votes import HardVote, SoftVote

COLDEST, HOTTEST = 1e-3, 1.0
# With participation a whole vote appears or disappears: L2 ≥ 1, so the ratio to √2 is never lower (THEORY).
FLOOR = 1.0 / SQRT2


def temperatures(count: int = 121, coldest: float = COLDEST, hottest: float = HOTTEST) -> np.ndarray:
    """``count`` temperatures evenly spaced in their logarithm, ends included; VoteError for an impossible range."""
    if not (0 < coldest < hottest < math.inf) or count < 2:
        raise VoteError(f"temperatures need 0 < coldest < hottest and at least 2, got {coldest}, {hottest}, {count}")
    return np.geomspace(coldest, hottest, count)


@dataclass(frozen=True)
class Ceiling:
    """The most that one edge of a flat categorical or binary attribute can reach: the attribute's whole weight."""

    attribute: str
    reach: float


def ceiling(domain: Domain) -> Ceiling | None:
    """The heaviest attribute whose values are all as far apart as can be, so that any edge costs its whole weight.

    That is every flat categorical attribute and everything binary (THEORY, "Sensitivity"); None if there is none.
    """
    flat = [name for name in domain.names if domain[name].span == 1 and domain.weights[name] > 0]
    heaviest = max(flat, key=lambda name: domain.weights[name], default=None)
    return Ceiling(heaviest, domain.length(heaviest, 0, 1)) if heaviest else None


def reaches(policy: Policy) -> list[tuple[str, str, float]]:
    """The reaches worth a curve over τ, as (kind, name, reach in distance); see ``noise_curves`` for the kinds."""
    top = ceiling(policy.domain)
    own = [("attribute", name, policy.reaches[name]) for name in policy.domain.names if policy.edge_count(name)]
    return [("record", "record", policy.reach), *own, *([("ceiling", top.attribute, top.reach)] if top else [])]


def noise_curves(
    policy: Policy,
    budget: Budget,
    rounds: int = 8,
    shares: Sequence[float] | None = None,
    taus: Iterable[float] | None = None,
) -> pd.DataFrame:
    """What the soft vote needs over τ: a row for each curve and temperature (THEORY, "Sensitivity").

    Columns: ``kind``, ``name``, ``reach`` (distance), ``tau``, ``ratio`` q = L2/√2, ``l2``, ``sigma_least`` and
    ``sigma_most`` (votes; over the rounds), ``factor`` 1/q², the budget that a hard vote needs for the same noise.
    Kinds: "record", the policy as it is; "attribute", as if it protected this attribute alone; "ceiling", an edge
    of the heaviest flat categorical attribute; "floor", what participation holds q at, in force or not.
    """
    taus = temperatures() if taus is None else np.asarray([SoftVote(tau).tau for tau in taus])
    parts = []
    for kind, name, reach in reaches(policy):
        shift = np.array([shift_ratio(reach, tau) for tau in taus])
        parts.append(_needs(policy, kind, name, reach, taus, SQRT2 * shift, budget, rounds, shares))
    parts.append(_needs(policy, "floor", "participation", math.nan, taus, np.ones(len(taus)), budget, rounds, shares))
    return pd.concat(parts, ignore_index=True)


def _needs(
    policy: Policy,
    kind: str,
    name: str,
    reach: float,
    taus: np.ndarray,
    l2: np.ndarray,
    budget: Budget,
    rounds: int,
    shares: Sequence[float] | None,
) -> pd.DataFrame:
    l2 = np.maximum(l2, 1.0) if policy.participation else l2
    spent = budget.split(rounds, shares)
    with np.errstate(divide="ignore"):
        factor = 2.0 / l2**2
    return pd.DataFrame(
        {
            "kind": kind,
            "name": name,
            "reach": reach,
            "tau": taus,
            "ratio": l2 / SQRT2,
            "l2": l2,
            "sigma_least": [noise_scale(each, max(spent)) for each in l2],
            "sigma_most": [noise_scale(each, min(spent)) for each in l2],
            "factor": factor,
        }
    )


def round_noise(
    policy: Policy, tau: float, budget: Budget, rounds: int = 8, shares: Sequence[float] | None = None
) -> pd.DataFrame:
    """ρ_t and the noise of each round: a frame with columns round, share, rho, sigma_soft and sigma_hard (votes).

    The hard vote is taken at its full sensitivity under the policy, as on any candidates with a crossing edge.
    """
    spent = budget.split(rounds, shares)
    soft, hard = sensitivity_bound(policy, SoftVote(tau)).l2, sensitivity_bound(policy, HardVote()).l2
    return pd.DataFrame(
        {
            "round": np.arange(1, rounds + 1),
            "share": [rho / budget.rho for rho in spent],
            "rho": spent,
            "sigma_soft": [noise_scale(soft, rho) for rho in spent],
            "sigma_hard": [noise_scale(hard, rho) for rho in spent],
        }
    )


def vote_profile(
    records: Records, candidates: Codes, taus: Iterable[float], *, sample: int = 256, seed: int = 0
) -> pd.DataFrame:
    """What softness does to the votes of a table over these candidates (m, d): one row a temperature.

    Averaged over records: ``entropy`` of a vote in bits, ``evenness`` (entropy / log₂ m, from 0 for one candidate
    to 1 for all alike) and ``top_share``, the largest entry of a vote; the means are over all records where at most
    ``sample`` are distinct, else over a seeded sample, and ``entropy_error`` and ``top_error`` are then half the
    width of their 95 % intervals (0 where exact).
    Of the histograms without noise, always over all records and in votes a candidate: ``contrast_soft`` and
    ``contrast_hard``, the root mean square from an even n/m; ``smoothing``, that between soft and hard; ``moved``,
    the share of all votes that softness hands to other candidates (total variation). Also ``n`` and ``m``.
    """
    candidates = records.domain.check_codes(candidates, "candidates")
    if not records.n:
        raise VoteError("the table has no records, so there are no votes to describe; give at least one")
    chosen, weights = _sampled(records, sample, seed)
    hard = HardVote().histogram(records.domain, records, candidates)
    n, m = records.n, len(candidates)
    rows = []
    for tau in taus:
        vote = SoftVote(tau)
        responses = vote.responses(records.domain, chosen, candidates)
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = -np.where(responses > 0, responses * np.log2(responses), 0.0).sum(axis=1)
        soft = vote.histogram(records.domain, records, candidates)
        entropy, entropy_error = _mean(bits, weights)
        top, top_error = _mean(responses.max(axis=1), weights)
        rows.append(
            {
                "tau": vote.tau,
                "entropy": entropy,
                "entropy_error": entropy_error,
                "evenness": min(1.0, entropy / math.log2(m)) if m > 1 else 1.0,
                "top_share": top,
                "top_error": top_error,
                "contrast_soft": _rms(soft - n / m),
                "contrast_hard": _rms(hard - n / m),
                "smoothing": _rms(soft - hard),
                "moved": 0.5 * float(np.abs(soft - hard).sum()) / n,
                "n": n,
                "m": m,
            }
        )
    return pd.DataFrame(rows)


def _sampled(records: Records, sample: int, seed: int) -> tuple[Codes, np.ndarray | None]:
    """Records to average over, with their weights; no weights mean an even sample."""
    if len(records.codes) <= sample:
        return records.codes, records.counts / records.n
    draw = np.random.default_rng(seed)
    return records.codes[draw.choice(len(records.codes), sample, p=records.counts / records.n)], None


def _mean(values: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    if weights is not None:
        return float(weights @ values), 0.0
    return float(values.mean()), 1.96 * float(values.std(ddof=1)) / math.sqrt(len(values))


def _rms(values: np.ndarray) -> float:
    return math.sqrt(float(np.mean(values**2)))


def signal(profile: pd.DataFrame, policy: Policy, rho: float) -> pd.DataFrame:
    """A ``vote_profile`` beside the noise of one round that spends ``rho``, for the soft and the hard vote.

    Adds ``sigma_*`` (votes), ``snr_*`` = (n/m)/σ, the votes of an average candidate over the noise (inf without
    noise), and ``error_*``, the root mean square, in votes a candidate, by which a noisy histogram misses the hard
    one without noise: σ for the hard vote, √(smoothing² + σ²) for the soft one, whose noise is independent of it.
    """
    hard = noise_scale(sensitivity_bound(policy, HardVote()).l2, rho)
    soft = np.array([noise_scale(sensitivity_bound(policy, SoftVote(tau)).l2, rho) for tau in profile["tau"]])
    votes = profile["n"] / profile["m"]
    with np.errstate(divide="ignore"):
        return profile.assign(
            sigma_soft=soft,
            sigma_hard=hard,
            snr_soft=votes / soft,
            snr_hard=votes / np.float64(hard),
            error_soft=np.hypot(profile["smoothing"], soft),
            error_hard=hard,
        )


@dataclass(frozen=True)
class Drowning:
    """Where noise drowns the hard vote and smoothing the soft one, in one round's histogram; None for nowhere.

    ``hard_drowned``: the hard vote's σ exceeds the votes of an average candidate, n/m; ``hard_rho`` is the round's
    ρ below which it does. ``smoothed_from``: the temperature above which smoothing has wiped out half of what tells
    candidates apart (half the variance of the hard histogram). ``soft_from`` to ``soft_to``: where the noisy soft
    histogram misses the noiseless hard one by less than both the noisy hard one and a histogram that says nothing,
    n/m for everyone; ``best`` is where it misses by least. An end of the temperatures looked at stands for itself.
    """

    hard_drowned: bool
    hard_rho: float
    smoothed_from: float | None
    soft_from: float | None
    soft_to: float | None
    best: float | None


def drowning(signals: pd.DataFrame, policy: Policy) -> Drowning:
    """Read ``signal`` for where each vote drowns; crossings are interpolated between its temperatures."""
    signals = signals.sort_values("tau", ignore_index=True)
    first = signals.iloc[0]
    votes, contrast = float(first["n"] / first["m"]), float(first["contrast_hard"])
    hard_rho = 0.5 * (sensitivity_bound(policy, HardVote()).l2 / votes) ** 2
    drowned = bool(first["sigma_hard"] > votes)
    taus, errors = signals["tau"].to_numpy(), signals["error_soft"].to_numpy()
    lost = _ranges_below(taus, -signals["smoothing"].to_numpy(), -contrast * math.sqrt(0.5))
    smoothed_from = lost[-1][0] if lost and lost[-1][1] == taus[-1] else None
    best = int(np.argmin(errors))
    for start, end in _ranges_below(taus, errors, min(float(first["sigma_hard"]), contrast)):
        if start <= taus[best] <= end:
            return Drowning(drowned, hard_rho, smoothed_from, start, end, float(taus[best]))
    return Drowning(drowned, hard_rho, smoothed_from, None, None, None)


def _ranges_below(taus: np.ndarray, values: np.ndarray, level: float) -> list[tuple[float, float]]:
    """The ranges of temperature where values lie below a level, in order; ends are crossings or the first and last."""
    below = np.concatenate([[False], values < level, [False]])
    starts, ends = np.flatnonzero(~below[:-1] & below[1:]), np.flatnonzero(below[:-1] & ~below[1:]) - 1

    def between(a: int, b: int) -> float:
        part = (level - values[a]) / (values[b] - values[a])
        return float(taus[a] * (taus[b] / taus[a]) ** part)

    return [
        (
            between(start - 1, start) if start else float(taus[0]),
            between(end, end + 1) if end < len(taus) - 1 else float(taus[-1]),
        )
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def matched_tau(reach: float, ratio: float) -> float:
    """The temperature at which a reach has the noise ratio q: τ = r / (2 artanh q), the inverse of q = tanh(r/2τ).

    Raises VoteError unless r > 0 and 0 < q < 1; q = 1 is the hard vote's noise, reached by no soft vote.
    """
    if not 0 < reach < math.inf:
        raise VoteError(f"a reach to match must be above 0, got {reach!r}; a policy without edges needs no noise")
    if not 0 < ratio < 1:
        raise VoteError(f"a noise ratio to match must lie between 0 and 1, got {ratio!r}")
    return reach / (2.0 * math.atanh(ratio))


def matched_curves(ratios: Iterable[float], reaches: Iterable[float] | None = None) -> pd.DataFrame:
    """Pairs of reach and temperature with the same noise: columns ratio, reach, tau, one curve a ratio.

    ``reaches`` run from 0.001 to 1 by default, evenly in their logarithm.
    """
    reaches = np.geomspace(1e-3, 1.0, 61) if reaches is None else np.asarray([*reaches], dtype=float)
    rows = [(ratio, reach, matched_tau(reach, ratio)) for ratio in ratios for reach in reaches.tolist()]
    return pd.DataFrame(rows, columns=["ratio", "reach", "tau"])
