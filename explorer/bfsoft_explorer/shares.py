"""How rounds share the budget: ready patterns, a list as people type it, and what becomes of it with other rounds."""

from __future__ import annotations

import math

from bfsoft.errors import BudgetError
from bfsoft.privacy import proportions

Shares = tuple[float, ...] | None
PATTERNS = ("equal", "rising", "falling", "own")


def rising(rounds: int) -> tuple[float, ...]:
    """1, 2, …, one share a round: the last round gets the most."""
    return tuple(float(number) for number in range(1, rounds + 1))


def pattern(shares: Shares) -> str:
    """Which of PATTERNS the shares are; None and all alike are "equal"."""
    if shares is None or len(set(shares)) == 1:
        return "equal"
    own = rising(len(shares))
    return "rising" if shares == own else "falling" if shares == own[::-1] else "own"


def made(which: str, rounds: int) -> Shares:
    """The shares of a ready pattern for so many rounds; "own" starts from the rising one."""
    return None if which == "equal" else rising(rounds)[::-1] if which == "falling" else rising(rounds)


def for_rounds(shares: Shares, rounds: int) -> Shares:
    """The same pattern for another number of rounds; a list of one's own is cut, or its last share repeated."""
    kind = pattern(shares)
    if shares is None or kind != "own":
        return made(kind, rounds)
    return (*shares[:rounds], *[shares[-1]] * (rounds - len(shares)))


def parse(text: str) -> tuple[float, ...]:
    """Shares typed as "1, 2, 3"; raises BudgetError naming the word that is no number above 0.

    So it does where the shares add up to more than a number can hold, or one is nothing beside the others.
    """
    shares = []
    for word in text.replace(",", " ").replace(";", " ").split():
        try:
            share = float(word)
        except ValueError:
            share = math.nan
        if not 0 < share < math.inf:
            raise BudgetError(f"shares must be numbers above 0 separated by commas, such as 1, 2, 3; got {word!r}")
        shares.append(share)
    if not shares:
        raise BudgetError("give at least one share, such as 1, 2, 3; each round gets its part of the budget")
    proportions(shares)
    return tuple(shares)


def written(shares: tuple[float, ...]) -> str:
    """Shares as people type them; ``parse`` reads them back exactly."""
    return ", ".join(str(int(share)) if share == int(share) else repr(share) for share in shares)
