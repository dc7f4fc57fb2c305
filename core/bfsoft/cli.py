"""The command ``bfsoft``: the library from a shell. It words and routes; every number comes from the library.

Results go to standard output or to OUT, progress to standard error. Exit status: 0 done; 2 bad input, said in one
line; 130 stopped by Ctrl-C; 141 nobody reads the output any more. A file is written whole or not at all.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from . import _cli_experiments
from .errors import BFSoftError, DataError

if TYPE_CHECKING:
    import pandas as pd

    from .policy import Edge
    from .scenario import Scenario
    from .sensitivity import RecordEdge, Sensitivity
    from .synthesis import Round

_OVERRIDES = ("method", "tau", "rho", "epsilon", "delta", "size", "rounds", "seed")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command on ``argv`` (the process's own arguments by default) and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without τ shows ?, and the work goes on
    try:
        arguments = _parser().parse_args(argv)
        arguments.run(arguments)
        sys.stdout.flush()
        return 0
    except BFSoftError as error:
        print(f"bfsoft: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bfsoft: stopped", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # What is still buffered would raise again when Python shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


# ------------------------------------------------------------------ arguments


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BFSoftError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("bfsoft", description="Privacy policies, what they cost, and the synthesis they drive.")
    parser.add_argument("--version", action="version", version=f"bfsoft {importlib.metadata.version('bfsoft')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    explore = _command(commands, "explore", _explore, "open the explorer in the browser, on this machine only")
    explore.add_argument("--port", type=int, default=8501, help="the port to serve on (default 8501)")
    explore.add_argument("--no-browser", action="store_true", help="serve, but open no browser window")

    reach = _command(commands, "reach", _reach, "a policy's reach, its closed-form sensitivity, and the budget")
    _add_scenario(reach)

    sensitivity = _command(commands, "sensitivity", _sensitivity, "the sensitivity of one vote, bound and exact")
    _add_scenario(sensitivity)
    sensitivity.add_argument(
        "--exact", action="store_true", help="also the exact value on random candidates: `size` many, drawn by `seed`"
    )

    synthesize = _command(commands, "synthesize", _synthesize, "a synthetic table from TABLE, by simulation noise")
    synthesize.add_argument("table", metavar="TABLE", help="a CSV or Parquet file, or a sample's name")
    synthesize.add_argument("--scenario", required=True, metavar="S", help="a scenario file or name, as for reach")
    synthesize.add_argument("--out", required=True, metavar="OUT", help=".csv, .csv.gz or .parquet; - for the screen")
    synthesize.add_argument("--clip", action="store_true", help="move numbers off the domain's grid onto it")
    _add_overrides(synthesize)

    _cli_experiments.add_commands(commands, _command, _progress)

    fetch = _command(commands, "fetch", _fetch, "a public table, fitted to its ready domain")
    fetch.add_argument("name", metavar="NAME", choices=[*_PUBLIC], help=" or ".join(_PUBLIC))
    fetch.add_argument("--from", dest="source", metavar="FILE", help="the original table on this machine")
    fetch.add_argument("--out", metavar="OUT", help="where to write (default NAME.csv, never over a file)")
    return parser


def _command(commands: Any, name: str, run: Any, says: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.", allow_abbrev=False)
    command.set_defaults(run=run)
    return command


def _add_scenario(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "scenario", metavar="SCENARIO", help="a scenario file, a sample (adult, staff, xor3) or a ready policy"
    )
    _add_overrides(command)


def _add_overrides(command: argparse.ArgumentParser) -> None:
    settings = command.add_argument_group("in place of what the scenario says")
    settings.add_argument("--method", help="BF-Soft, Hard or Tab-PE")
    for name, kind, says in (
        ("tau", float, "temperature of the soft vote, in distance units"),
        ("rho", float, "budget as zCDP"),
        ("epsilon", float, "budget as ε, in place of rho"),
        ("delta", float, "δ at which ε is meant"),
        ("size", int, "how many candidates and synthetic records"),
        ("rounds", int, "how many rounds"),
        ("seed", int, "seed of every random draw"),
    ):
        settings.add_argument(f"--{name}", type=kind, metavar=name[0].upper(), help=says)
    command.add_argument("--json", action="store_true", help="the result as JSON, at full precision")


def _scenario(arguments: argparse.Namespace) -> Scenario:
    from .samples import load_scenario

    given = {name: getattr(arguments, name) for name in _OVERRIDES if getattr(arguments, name) is not None}
    return load_scenario(arguments.scenario).replace(**given)


# ------------------------------------------------------------------ reach and sensitivity


def _reach(arguments: argparse.Namespace) -> None:
    scenario = _scenario(arguments)
    policy, bound, budget = scenario.policy, scenario.sensitivity, scenario.budget
    widest = policy.widest_edge
    if arguments.json:
        _print_json(
            title=scenario.title, method=scenario.method, tau=scenario.tau, reach=policy.reach,
            reaches=policy.reaches, widest_edge=_edge_json(widest), participation=policy.participation,
            **_sensitivity_json(bound), rho=budget.rho, delta=budget.delta, epsilon=budget.epsilon,
            epsilon_zcdp=budget.epsilon_zcdp,
        )  # fmt: skip
        return
    rows = [("reach", f"{policy.reach:.6g}")]
    for name, reach in policy.reaches.items():
        edge = policy.widest(name)
        rows.append((f"  {name}", f"{reach:.6g}  ({edge.a} ↔ {edge.b})" if edge else "unprotected"))
    rows.append(("widest edge", f"{widest.attribute} {widest.a} ↔ {widest.b}" if widest else "none"))
    rows += _sensitivity_rows(scenario, bound)
    rows += [
        ("zCDP budget ρ", f"{budget.rho:.6g}"),
        (f"ε at δ = {budget.delta:g}, exact", f"{budget.epsilon:.6g}"),
        ("  as the paper converts", f"{budget.epsilon_zcdp:.6g}"),
    ]
    _print_rows(scenario.title, rows)


def _sensitivity(arguments: argparse.Namespace) -> None:
    scenario = _scenario(arguments)
    exact = _exact(scenario) if arguments.exact else None
    if arguments.json:
        found: dict[str, Any] = {"bound": _sensitivity_json(scenario.sensitivity)}
        if exact is not None:
            found["exact"] = {
                **_sensitivity_json(exact), "edge": _record_edge_json(exact.edge), "candidates": scenario.size,
                "seed": scenario.seed,
            }  # fmt: skip
        _print_json(title=scenario.title, method=scenario.method, tau=scenario.tau, **found)
        return
    rows = _sensitivity_rows(scenario, scenario.sensitivity)
    if exact is not None:
        edge = str(exact.edge) if exact.edge else "none" if exact.l2 == 0 else "participation"
        rows += [
            ("exact, on candidates", f"{scenario.size} random ones, seed {scenario.seed}"),
            ("  L1 sensitivity", f"{exact.l1:.6g}"),
            ("  L2 sensitivity", f"{exact.l2:.6g}"),
            ("  attained by", edge),
        ]
    _print_rows(scenario.title, rows)


def _exact(scenario: Scenario) -> Sensitivity:
    from .sensitivity import exact_sensitivity
    from .synthesis import random_candidates

    if scenario.vote_method.calibration == "standard":
        raise BFSoftError(
            f"--exact: {scenario.method} is blind to the policy, so its sensitivity is the bound whatever the "
            "candidates; use --method Hard or BF-Soft"
        )
    _progress(f"searching all neighbouring records for {scenario.size} candidates")
    candidates = random_candidates(scenario.domain, scenario.size, scenario.seed)
    return exact_sensitivity(scenario.policy, scenario.vote, candidates)


def _sensitivity_rows(scenario: Scenario, found: Sensitivity) -> list[tuple[str, str]]:
    soft = scenario.method == "BF-Soft"
    return [
        ("vote", f"soft, τ = {scenario.tau:g}" if soft else f"hard ({scenario.method})"),
        ("noise ratio q", f"{found.ratio:.6g}"),
        ("L1 sensitivity", f"{found.l1:.6g}"),
        ("L2 sensitivity", f"{found.l2:.6g}"),
        ("budget factor 1/q²", f"{_factor(found):.6g}"),
    ]


def _factor(found: Sensitivity) -> float:
    """How many times the ρ a hard vote needs for the same noise (THEORY, "Sensitivity"); inf where no noise is due."""
    return 1.0 / found.ratio**2 if found.ratio**2 > 0 else math.inf


def _sensitivity_json(found: Sensitivity) -> dict[str, Any]:
    return {"ratio": found.ratio, "l1": found.l1, "l2": found.l2, "budget_factor": _factor(found)}


def _edge_json(edge: Edge | None) -> dict[str, Any] | None:
    return {"attribute": edge.attribute, "a": edge.a, "b": edge.b, "length": edge.length} if edge else None


def _record_edge_json(edge: RecordEdge | None) -> dict[str, Any] | None:
    return {"attribute": edge.attribute, "a": dict(edge.a), "b": dict(edge.b), "length": edge.length} if edge else None


# ------------------------------------------------------------------ synthesize


def _synthesize(arguments: argparse.Namespace) -> None:
    from .records import Records
    from .samples import load_data
    from .tables import check_writable, csv_text, write_table

    to_screen = arguments.out == "-"
    if to_screen and arguments.json:
        raise BFSoftError("--json: the screen already gets the table (--out -); give a file to --out")
    if not to_screen:
        check_writable(arguments.out)  # now, not after minutes of work
    scenario = _scenario(arguments)
    table = load_data(arguments.table, scenario.domain)
    # Counted from 1 below the header, as a person counts the rows of a file.
    table.index = range(1, len(table) + 1)
    records = Records.of_frame(scenario.domain, table, unknown="clip" if arguments.clip else "error")

    def tell(each: Round) -> None:
        # Nothing that depends on a private record: σ follows from policy, candidates and budget.
        _progress(f"round {each.number}/{scenario.rounds}: noise σ = {each.sigma:.4g} records")

    if not scenario.sensitivity.l2 > 0:
        _progress("warning: the policy protects nothing, so no noise is added and the result is not private")
    run = scenario.synthesize(records, on_round=tell)
    if to_screen:
        sys.stdout.write(csv_text(run.records))
    else:
        write_table(run.records, arguments.out)
        _progress(f"wrote {len(run.records)} records to {arguments.out}")
    _progress("seeded simulation noise: for study and public data, not for the release of a private table")
    if arguments.json:
        budget = scenario.budget
        _print_json(
            title=scenario.title, method=scenario.method, tau=scenario.tau, out=arguments.out, size=len(run.records),
            rounds=scenario.rounds, seed=scenario.seed, rho=budget.rho, delta=budget.delta, epsilon=budget.epsilon,
            epsilon_zcdp=budget.epsilon_zcdp, sensitivity=run.sensitivity.tolist(), sigma=run.sigma.tolist(),
        )  # fmt: skip


# ------------------------------------------------------------------ fetch

# name: (number in the UCI repository, ready policy with its domain, text for a cell the repository leaves empty)
_PUBLIC = {"adult": (2, "adult-all", "?"), "bank": (222, "bank-all", "unknown")}


def _fetch(arguments: argparse.Namespace) -> None:
    from .samples import load_scenario
    from .tables import check_writable, write_table

    out = arguments.out or f"{arguments.name}.csv"
    if arguments.out is None and os.path.exists(out):
        raise DataError(f"{out} is there already; give another name with --out, or that one to write over it")
    check_writable(out)
    number, policy, empty = _PUBLIC[arguments.name]
    domain = load_scenario(policy).domain
    table = _original(arguments.name, number, arguments.source)
    # The repository writes education-num where the original has education.num; labels of the test file end in a dot.
    table = table.rename(columns=lambda column: str(column).strip().strip('"').replace("-", ".").lower())
    for attribute in domain.attributes:
        if attribute.kind != "numeric" and attribute.name in table.columns:
            text = (
                table[attribute.name].astype(object).map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
            )
            dotted = {f"{value}.": value for value in attribute.values if f"{value}." not in attribute.values}
            table[attribute.name] = text.replace(dotted).where(text.notna(), empty)
    try:
        codes, moved = domain.encode(table), ""
    except DataError:
        codes = domain.encode(table, unknown="clip")
        moved = "; numbers off the domain's grid moved to the nearest value"
    write_table(domain.decode(codes), out)
    _progress(f"wrote {len(table)} records to {out}{moved}")


def _original(name: str, number: int, source: str | None) -> pd.DataFrame:
    from .tables import read_table

    if source is not None:
        return read_table(source)
    try:
        from ucimlrepo import fetch_ucirepo
    except ImportError:
        raise BFSoftError(
            "fetch needs the package ucimlrepo (pip install 'bfsoft[fetch]'), or the original table: --from FILE"
        ) from None
    _progress(f"fetching {name}, data set {number} of the UCI Machine Learning Repository")
    try:
        return fetch_ucirepo(id=number).data.original
    except Exception as error:  # the package lets through whatever its network layers raise
        reason = str(error) or type(error).__name__
        raise BFSoftError(
            f"{name} cannot be fetched ({reason}); try again later, or get it elsewhere and give it with --from FILE"
        ) from None


# ------------------------------------------------------------------ explore


def _explore(arguments: argparse.Namespace) -> None:
    if not 0 < arguments.port < 65536:
        raise BFSoftError(f"--port: must lie between 1 and 65535, got {arguments.port}")
    _refuse_busy(arguments.port)
    command = explore_command(arguments.port, browser=not arguments.no_browser)
    print(f"The explorer is at http://localhost:{arguments.port} (Ctrl-C ends it)", flush=True)
    if os.name == "posix":
        os.execv(command[0], command)  # the server takes this process's place, and its signals
    import subprocess

    raise SystemExit(subprocess.call(command))


def _refuse_busy(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("localhost", port))
        except OSError as error:
            raise BFSoftError(f"port {port} cannot be had ({error.strerror}); choose another with --port") from None


def explore_command(port: int, browser: bool = True) -> list[str]:
    """The command that serves the explorer on this machine; raises BFSoftError when it is not installed."""
    found = importlib.util.find_spec("bfsoft_explorer")  # finds, does not import: the core knows no user interface
    places = [Path(place) for place in (found.submodule_search_locations or [])] if found else []
    app = next((place / "app.py" for place in places if (place / "app.py").is_file()), None)
    if app is None or importlib.util.find_spec("streamlit") is None:
        raise BFSoftError("the explorer is missing from this installation; install the package again")
    settings = {
        **_app_settings(app), "server.address": "localhost", "server.port": port, "server.headless": not browser,
        "server.showEmailPrompt": False, "browser.gatherUsageStats": False,
    }  # fmt: skip
    flags = [f"--{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items()]
    return [sys.executable, "-m", "streamlit", "run", str(app), *flags]


def _app_settings(app: Path) -> dict[str, Any]:
    """The app's own configuration, which Streamlit would look for in the directory one happens to stand in."""
    import tomllib

    places = (app.parent, app.parents[2])  # in a wheel beside the app, in a checkout at its root
    config = next((path for place in places if (path := place / ".streamlit" / "config.toml").is_file()), None)
    return _flat(tomllib.loads(config.read_text(encoding="utf-8"))) if config else {}


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float):
            flat[f"{prefix}{key}"] = value
    return flat


# ------------------------------------------------------------------ output


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_rows(title: str, rows: list[tuple[str, str]]) -> None:
    if title:
        print(title)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def _print_json(**found: Any) -> None:
    print(json.dumps(_finite(found), ensure_ascii=False))


def _finite(found: Any) -> Any:
    """JSON has no infinity: null stands for it."""
    if isinstance(found, dict):
        return {key: _finite(value) for key, value in found.items()}
    return None if isinstance(found, float) and not math.isfinite(found) else found


if __name__ == "__main__":
    sys.exit(main())
