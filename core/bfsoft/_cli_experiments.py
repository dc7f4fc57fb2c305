"""The commands ``compare``, ``pilot`` and ``reproduce`` of ``bfsoft``: experiments on public data, from a shell."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import BFSoftError

if TYPE_CHECKING:
    import pandas as pd

    from .experiments import Progress
    from .scenario import Scenario

_FIGURES = ("fig3", "fig4", "fig5", "fig6", "fig7", "table4", "f4", "f6", "f9", "all", "moves")
_RHOS, _TAUS = "1e-4,6e-4,3e-3", "0.015,0.03,0.06"
_EVERY = 1.0  # seconds between two lines of progress


def add_commands(commands: Any, command: Callable[..., argparse.ArgumentParser], say: Callable[[str], None]) -> None:
    """Add the three commands; ``command`` makes one, ``say`` writes a line of progress."""
    compare = command(commands, "compare", _bound(_compare, say), "Hard against BF-Soft on a public table, over seeds")
    _add_study(compare, "TABLE", "the tidy frame of all runs: .csv, .csv.gz or .parquet")
    compare.add_argument("--k", type=int, default=2, help="how many columns each compared marginal has (default 2)")

    pilot = command(commands, "pilot", _bound(_pilot, say), "forecast from a public table whether softness will help")
    _add_study(pilot, "PUBLIC", "the forecast for every τ and ρ: .csv, .csv.gz or .parquet")
    pilot.add_argument("--private-size", type=int, metavar="N", help="how many records the private table has")
    pilot.add_argument("--target", metavar="TABLE", help="a public stand-in for the private table, to check signs on")

    reproduce = command(commands, "reproduce", _bound(_reproduce, say), "the paper's experiments beside its figures")
    reproduce.add_argument("name", metavar="NAME", choices=_FIGURES, help=", ".join(_FIGURES))
    reproduce.add_argument("--quick", action="store_true", help="a small grid, under a minute: a check, no evidence")
    reproduce.add_argument("--protocol", choices=("tab-pe", "paper"), default="tab-pe",
                           help="this package's loop, or the paper's published one (default tab-pe)")  # fmt: skip
    reproduce.add_argument("--bank", metavar="FILE", help="UCI Bank Marketing; without it Bank is left out")
    reproduce.add_argument("--out", metavar="DIR", help="where tables and claims go, and runs, to continue from")
    reproduce.add_argument("--jobs", type=int, metavar="J", help="worker processes (default: all cores)")
    reproduce.add_argument("--json", action="store_true", help="the claims as JSON")


def _bound(run: Callable[..., None], say: Callable[[str], None]) -> Callable[[argparse.Namespace], None]:
    return lambda arguments: run(arguments, say)


def _add_study(command: argparse.ArgumentParser, table: str, out: str) -> None:
    command.add_argument("table", metavar=table, help="a CSV or Parquet file, or a sample's name")
    command.add_argument("--scenario", required=True, metavar="S", help="a scenario file, a sample or a ready policy")
    command.add_argument("--taus", type=_numbers, default=_TAUS, metavar="T,…", help=f"temperatures (default {_TAUS})")
    command.add_argument(
        "--rhos", type=_numbers, default=_RHOS, metavar="R,…", help=f"budgets as zCDP (default {_RHOS})"
    )
    command.add_argument("--seeds", type=int, default=6, metavar="N", help="paired runs of each setting (default 6)")
    command.add_argument("--clip", action="store_true", help="move numbers off the domain's grid onto it")
    command.add_argument("--resume", metavar="FILE", help="keep runs here, and continue from those already there")
    command.add_argument("--jobs", type=int, metavar="J", help="worker processes (default: all cores)")
    command.add_argument("--out", metavar="OUT", help=out)
    command.add_argument("--json", action="store_true", help="the result as JSON, at full precision")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers with commas between, got {text!r}") from None


# ------------------------------------------------------------------ compare and pilot


def _study(arguments: argparse.Namespace, say: Callable[[str], None]) -> tuple[Scenario, Any, dict[str, Any]]:
    from .samples import load_scenario
    from .tables import check_writable

    for name in ("out", "resume"):
        if getattr(arguments, name) is not None:
            check_writable(getattr(arguments, name))  # now, not after minutes of work
    scenario = load_scenario(arguments.scenario)
    options = {
        "seeds": arguments.seeds, "jobs": arguments.jobs, "resume": arguments.resume, "progress": _telling(say),
        "size": scenario.size, "rounds": scenario.rounds, "shares": scenario.shares, "threshold": scenario.threshold,
        "resampling": scenario.resampling, "mutation": scenario.mutation,
    }  # fmt: skip
    return scenario, _records(arguments.table, scenario, arguments.clip), options


def _records(name: str, scenario: Scenario, clip: bool) -> Any:
    from .records import Records
    from .samples import load_data

    table = load_data(name, scenario.domain)
    table.index = range(1, len(table) + 1)  # as a person counts the rows of a file
    return Records.of_frame(scenario.domain, table, unknown="clip" if clip else "error")


def _compare(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from . import experiments as ex
    from .privacy import Budget
    from .synthesis import bf_soft, hard

    scenario, records, options = _study(arguments, say)
    budgets = [Budget(rho=rho, delta=scenario.delta) for rho in arguments.rhos]
    methods = [hard(), *map(bf_soft, arguments.taus)]
    runs = ex.compare(records, scenario.policy, methods, budgets, k=arguments.k, **options)
    summary = ex.summarise(runs)
    gains = ex.summarise(ex.gains(runs), "gain").rename(columns={"mean": "gain"})
    crossings = ex.crossover(runs) if len(budgets) > 1 else None
    _write(arguments, runs, say)
    if arguments.json:
        _print_json(summary=summary, gains=gains, crossover=crossings)
        return
    print(f"mean {arguments.k}-way error, with its 95 % interval over {arguments.seeds} seeds")
    _print_table(summary.drop(columns="seeds"))
    if crossings is not None:
        print("\nwhere BF-Soft stops being better than Hard")
        _print_table(crossings[["method", "tau", "rho", "epsilon", "low", "high", "before", "after"]])


def _pilot(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from . import experiments as ex
    from .privacy import Budget

    if arguments.private_size is None and arguments.target is None:
        raise BFSoftError("pilot needs --private-size N, by which it scales its noise (or --target TABLE, to check it)")
    scenario, public, options = _study(arguments, say)
    target = None if arguments.target is None else _records(arguments.target, scenario, arguments.clip)
    budgets = [Budget(rho=rho, delta=scenario.delta) for rho in arguments.rhos]
    found = ex.pilot(public, scenario.policy, arguments.private_size, arguments.taus, budgets, target=target, **options)
    _write(arguments, found.forecast, say)
    say("a pilot holds only for private data like the public table")
    if arguments.json:
        _print_json(recommended=found.recommended, forecast=found.forecast, agreement=found.agreement)
        return
    print("recommended for each budget: the method of least mean error, its gain over Hard, and how sure that is")
    _print_table(found.recommended)
    if found.agreement is not None:
        print("\nsigns of the gain that the forecast had right")
        _print_table(found.agreement)


# ------------------------------------------------------------------ reproduce


def _reproduce(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from .reproduction import reproduce

    tell = _telling(say)

    def progress(label: str, state: Progress) -> None:
        tell(state, label)

    place = None if arguments.out is None else Path(arguments.out)
    found = reproduce(
        arguments.name, quick=arguments.quick, protocol=arguments.protocol, bank=arguments.bank,
        runs=None if place is None else place / "runs", jobs=arguments.jobs, progress=progress,
    )  # fmt: skip
    if place is not None:
        for path in found.write(place):
            say(f"wrote {path}")
    for note in found.notes:
        say(note)
    if arguments.json:
        _print_json(claims=found.claims)
        return
    print(
        "the paper's figures and ours; errors are k-way total variation, or as the paper's published code measures them"
    )
    _print_table(found.claims)


# ------------------------------------------------------------------ output


def _telling(say: Callable[[str], None]) -> Callable[..., None]:
    last = [-math.inf]

    def tell(state: Progress, label: str = "") -> None:
        now = time.monotonic()
        if now - last[0] < _EVERY and state.done < state.total:
            return
        last[0] = now
        left = "" if state.remaining is None else f", {_duration(state.remaining)} left"
        say(f"{label + ': ' if label else ''}{state.done} of {state.total} runs{left}")

    return tell


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"


def _write(arguments: argparse.Namespace, frame: pd.DataFrame, say: Callable[[str], None]) -> None:
    from .tables import write_table

    if arguments.out is not None:
        write_table(frame, arguments.out)
        say(f"wrote {len(frame)} rows to {arguments.out}")


def _print_table(frame: pd.DataFrame) -> None:
    print(frame.to_string(index=False, na_rep="", float_format=lambda value: f"{value:.4g}"))


def _print_json(**frames: pd.DataFrame | None) -> None:
    print(json.dumps({name: _plain(frame) for name, frame in frames.items()}, ensure_ascii=False))


def _plain(frame: pd.DataFrame | None) -> list[dict[str, Any]] | None:
    """The rows of a frame; what is missing, and infinity, is null."""
    if frame is None:
        return None
    rows = json.loads(json.dumps(frame.to_dict("records"), default=lambda value: value.item()))
    return [{key: None if isinstance(cell, float) and not math.isfinite(cell) else cell for key, cell in row.items()}
            for row in rows]  # fmt: skip
