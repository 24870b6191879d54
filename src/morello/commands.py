"""What each subcommand of `morello` does."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from morello import api
from morello.codegen import Source, generate
from morello.codegen.levels import check_level, generate_levels
from morello.codegen.names import check_function_name
from morello.errors import RewriteError
from morello.files import check_different, check_writable, write_text
from morello.frontends.text import parse
from morello.ir.dtype import DTYPES, F32, DType
from morello.ir.operation import Operation
from morello.ir.semantics import evaluate
from morello.ir.spec import Spec
from morello.learn.predict import predict
from morello.rewrites import saved
from morello.rewrites.impl import Impl, cycles
from morello.rewrites.render import print_impl, tree
from morello.runtime.argument import Array
from morello.runtime.bench import Timing, check_seconds, limit_threads, measure
from morello.runtime.packing import random_inputs
from morello.runtime.threads import thread_count
from morello.runtime.tolerance import least
from morello.search.solve import Statistics
from morello.table import Table
from morello.targets import PORTABLE, TARGETS, find_target, tuned
from morello.targets.calibration import chosen_path, load
from morello.targets.catalog import host_machine, runs_here
from morello.targets.costs import coefficients
from morello.targets.cpu import host_cpu
from morello.targets.machines import MACHINES
from morello.targets.target import Target
from morello.targets.x86 import BASELINE

PATIENCE_S = 1.0
"""Searches that take longer show their progress."""

INTENSE = 8
"""From this arithmetic intensity (operations per byte) on, products are shown without GB/s."""


def synth(arguments: argparse.Namespace) -> None:
    """Write the C of the best kernel, its header and its schedule."""
    check_function_name(arguments.name)
    _check_paths(arguments)
    if "," in arguments.target:
        _synth_levels(arguments)
        return
    result = _implement(arguments)
    impl, _ = result
    source = generate(impl, arguments.name, tree(impl))
    schedule = json.dumps(saved.save(impl), indent=2) + "\n"
    _write_source(arguments, source, schedule, lambda: _described(*result))


def _synth_levels(arguments: argparse.Namespace) -> None:
    """Write one file with kernels for several levels of x86-64, and a baseline for other CPUs."""
    if arguments.save is not None or arguments.schedule is not None:
        raise RewriteError("a file for several targets has several schedules; give one target.")
    wanted = dict.fromkeys([*arguments.target.split(","), BASELINE])
    for level in wanted:
        check_level(level, parallel=thread_count(arguments.threads) > 1)
    results = [
        _implement(argparse.Namespace(**vars(arguments) | {"target": level})) for level in wanted
    ]
    source = generate_levels([impl for impl, _ in results], arguments.name)
    _write_source(
        arguments, source, "", lambda: {"levels": [_described(*result) for result in results]}
    )


def _write_source(
    arguments: argparse.Namespace,
    source: Source,
    schedule: str,
    describe: Callable[[], dict[str, Any]],
) -> None:
    """Write the requested files; print the JSON if requested, else the C if no file gets it."""
    texts = [
        (arguments.output, source.text),
        (arguments.header, source.header),
        (arguments.save, schedule),
    ]
    files = [(path, text) for path, text in texts if path is not None]
    for path, text in files:
        write_text(path, text)
    if arguments.json:
        _print_json(describe() | {"files": [str(path) for path, _ in files], "c": source.text})
    elif arguments.output is None:
        print(source.text, end="")


def _check_paths(arguments: argparse.Namespace) -> None:
    """Check output paths before the search, so that no search is in vain."""
    options = {
        "-o": arguments.output,
        "--header": arguments.header,
        "--save": arguments.save,
        "--db": arguments.db,
    }
    paths = {name: path for name, path in options.items() if path is not None}
    check_different(paths)
    for name, path in paths.items():
        if name != "--db":  # `Table` checks its own path
            check_writable(path)


def explain(arguments: argparse.Namespace) -> None:
    """Show the best program and what was searched."""
    impl, statistics = _implement(arguments)
    if arguments.json:
        _print_json(_described(impl, statistics) | {"schedule": saved.save(impl)})
        return
    console = Console(highlight=False)
    print_impl(impl, console)
    if statistics is not None:
        console.print(f"\n{_searched(statistics)}")
    predicted = _predicted(impl)
    if predicted is not None:
        console.print(_prediction_text(predicted))


def bench(arguments: argparse.Namespace) -> None:
    """Build, verify and time the best kernel, next to its rivals if asked."""
    threads = thread_count(arguments.threads)
    check_seconds(arguments.seconds)
    loaded = _loaded(arguments)
    if loaded is not None and loaded.spec.parallel:
        threads = loaded.target.cores
    rivals = list(dict.fromkeys(arguments.vs or []))
    with progress() as report, limit_threads(threads), opened(arguments.db) as table:
        kernel = api.compile(
            loaded or arguments.expression,
            target=arguments.target,
            threads=arguments.threads,
            verify=not arguments.no_verify,
            compiler=arguments.compiler,
            table=table,
            weights=arguments.weights,
            measure=arguments.measure,
            rank=arguments.rank,
            budget=arguments.budget,
            progress=report,
        )
        timings = _race(kernel, rivals, arguments.seconds, pin=threads == 1)
    ours = timings["morello"]
    result = _described(kernel.impl, kernel.statistics) | {
        "cpu": host_cpu().name,
        "costs": _costs_of(kernel.impl.target),
        "compiler": str(kernel.compiler),
        "threads": threads,
        "kernel": _timing(ours) | _rates(kernel.spec, ours),
        "verified": kernel.max_error is not None,
        "max_error": kernel.max_error,
        "vs": {name: _timing(timings[name]) | _version(name) for name in rivals},
        "ratio": {name: timings[name].median_s / ours.median_s for name in rivals},
    }
    if arguments.json:
        _print_json(result)
    else:
        _print_race(result, timings, kernel)


def targets(arguments: argparse.Namespace) -> None:
    """List the targets."""
    listed = [*TARGETS.values(), *map(find_target, PORTABLE), find_target("native")]
    if arguments.json:
        _print_json(
            {
                t.name: {
                    "description": t.description,
                    "runs_here": runs_here(t),
                    "levels": {level.name: level.capacity for level in t.levels[1:]},
                    "costs": coefficients(t),
                    "costs_of": _sources(t),
                    "dtypes": _dtypes(t),
                    "kernels": dict(Counter(kernel.operation for kernel in t.kernels)),
                }
                for t in listed
            }
        )
        return
    console = Console(highlight=False)
    for t in listed:
        levels = ", ".join(f"{level.name} {level.capacity}" for level in t.levels[1:])
        here = "runs here" if runs_here(t) else "does not run here"
        operations = len({kernel.operation for kernel in t.kernels})
        console.print(f"[bold]{t.name}[/bold] ({here}): {t.description}", soft_wrap=True)
        console.print(f"  levels (lines, registers): {levels}")
        console.print(f"  {len(t.kernels)} kernels for {operations} operations")
        console.print(f"  dtypes: {', '.join(_dtypes(t))}")
    console.print(f"  {_origin()}", soft_wrap=True)
    for source in ("measured", "published"):
        names = ", ".join(machine.name for machine in MACHINES if machine.source == source)
        console.print(f"[bold]costs that are {source}[/bold]: {names}", soft_wrap=True)


def _sources(target: Target) -> dict[str, str]:
    """The microarchitectures whose costs a target may have, and the sources of these costs."""
    of = {tuning.machine for tuning in target.tunings}
    return {m.name: m.source for m in MACHINES if m.target == target.name or m.name in of}


def _origin() -> str:
    """The source of the native target's costs, and the file that they are in."""
    known = _costs_of(find_target("native"))
    path = chosen_path(host_cpu())
    if path is not None:
        return f"{known}, in {path}"
    return f"{known}, which come with Morello; `morello calibrate` measures this machine's"


def _costs_of(target: Target) -> str:
    """The source of a target's costs, in a few words."""
    if target.name != "native":
        return f"costs of the target {target.name}"
    path, machine = chosen_path(host_cpu()), host_machine()
    known = f"{machine.source} costs of {machine.name}" if machine else "costs of no known machine"
    if path is None:
        published = machine is None or machine.source == "published"
        return known + ", never measured here" * published
    calibration = load(path)
    if not calibration.coefficients:
        return f"{known}, compared with measured ones at first use"
    return "costs measured here" + " at first use" * (calibration.measured == "first use")


def _dtypes(target: Target) -> list[str]:
    """The dtypes of operands that a target has kernels for."""
    known = {dtype.name for kernel in target.kernels for dtype in kernel.dtypes}
    return [name for name in DTYPES if name in known]


# ---- from arguments to an Impl


def _implement(arguments: argparse.Namespace) -> tuple[Impl, Statistics | None]:
    goal = _loaded(arguments) or arguments.expression
    target, threads = arguments.target, arguments.threads
    if arguments.tune is not None:
        target = tuned(target, arguments.tune)
    with progress() as report, opened(arguments.db) as table:
        return api.implement(
            goal,
            target=target,
            threads=threads,
            table=table,
            weights=arguments.weights,
            measure=arguments.measure,
            rank=arguments.rank,
            budget=arguments.budget,
            progress=report,
        )


@contextmanager
def opened(path: Path | None) -> Iterator[Table | None]:
    """The table at a path, None without a path; warns about damaged parts on stderr."""
    if path is None:
        yield None
        return
    with Table(path) as table:
        yield table
        for problem in table.damaged:
            print(f"morello: {path}: {problem} It was left out.", file=sys.stderr)


def _loaded(arguments: argparse.Namespace) -> Impl | None:
    """The Impl of a saved schedule, if one was given; it must be of the same Spec."""
    if arguments.schedule is None:
        return None
    target = find_target(arguments.target)
    try:
        data = json.loads(arguments.schedule.read_text())
    except (ValueError, RecursionError) as error:
        raise RewriteError(f"{arguments.schedule} is no saved schedule: {error}.") from None
    impl = saved.load(data, target)
    goal = replace(parse(arguments.expression), parallel=impl.spec.parallel)
    if impl.spec != goal:
        raise RewriteError(
            f"{arguments.schedule} is a schedule of {impl.spec.expression}, "
            f"not of {arguments.expression:.200}."
        )
    return replace(impl, spec=goal)


# ---- timing


def _race(kernel: api.Kernel, rivals: list[str], seconds: float, pin: bool) -> dict[str, Timing]:
    inputs, output = random_inputs(kernel.spec), kernel.arguments[-1]
    out = output.empty().view(output.raw)
    calls: dict[str, Callable[[], object]] = {"morello": partial(kernel.fast, *inputs.taken, out)}
    if "numpy" in rivals:
        calls["numpy"] = _in_numpy(kernel.spec, inputs.plain, output.empty())
    return measure(calls, seconds=seconds, pin=pin)


def _in_numpy(spec: Spec, inputs: Sequence[Array], out: Array) -> Callable[[], object]:
    """The Spec as NumPy code, computing in f32, or in the output's dtype if all are integers."""
    operation, dtype = spec.operation, spec.dtypes[-1]
    if any(d.is_float for d in (*spec.dtypes, *(c.dtype for c in operation.components))):
        dtype = F32
    if not inputs:
        value = 0 if operation.name == "FillZero" else least(spec.dtypes[0])
        return lambda: out.fill(value)
    if operation.name == "Matmul" and all(d is dtype for d in spec.dtypes):
        *lead, m, k, n = operation.dims
        if [o.dims for o in operation.operands] == [(*lead, m, k), (*lead, k, n), (*lead, m, n)]:
            a, b = spec.spread(inputs)
            return lambda: np.matmul(a, b, out=out)

    def run() -> object:
        operands = spec.spread([_as(dtype, array) for array in inputs])
        value = evaluate(operation, operands, spec.sizes)[0]
        if operation.copies or operation.name in ("Broadcast", "OnePrefix"):
            out[...] = value  # a view of the input has to be copied
            return out
        return value if value.dtype == out.dtype else value.astype(out.dtype)

    return run


def _as(dtype: DType, array: Array) -> Array:
    return array if array.dtype == dtype.np else array.astype(dtype.np)


def _rates(spec: Spec, timing: Timing) -> dict[str, float]:
    """Operations and bytes per second, in billions; the bytes are those of all operands."""
    return {
        "gflops": spec.flops / timing.median_s / 1e9,
        "gbytes_s": spec.bytes / timing.median_s / 1e9,
    }


def _timing(timing: Timing) -> dict[str, Any]:
    return {"median_s": timing.median_s, "min_s": timing.min_s, "repeats": timing.repeats}


def _version(rival: str) -> dict[str, str]:
    """The versions of a rival and of the BLAS library that it uses."""
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    blas = next((library for library in threadpool_info() if library["user_api"] == "blas"), None)
    name = f"numpy {np.__version__}"
    if blas is None:
        return {"version": name}
    parts = (blas.get(key) for key in ("internal_api", "version", "architecture"))
    return {"version": f"{name}, {' '.join(str(part) for part in parts if part)}"}


# ---- output as text and as JSON


def _predicted(impl: Impl) -> dict[str, float] | None:
    """A learned model's prediction in microseconds, if there is a model for the machine."""
    prediction = predict(impl)
    return None if prediction is None else {name: 1e6 * s for name, s in asdict(prediction).items()}


def _prediction_text(predicted_us: dict[str, float]) -> str:
    middle, low, high = (readable(1e-6 * predicted_us[name]) for name in ("seconds", "low", "high"))
    return f"learned model: {middle} a call ({low} to {high})"


def _described(impl: Impl, statistics: Statistics | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "spec": impl.spec.expression,
        "target": impl.target.name,
        "threads": impl.target.cores if impl.spec.parallel else 1,
        "cost": impl.cost,
        "predicted_us": _predicted(impl),
        "search": None,
    }
    if statistics is not None:
        data["search"] = {
            "seconds": statistics.seconds,
            "specs": statistics.specs,
            "entries": statistics.entries,
            "rewrites": statistics.rewrites,
            "tried": statistics.tried,
            "bounded": statistics.bounded,
            "measured": statistics.measured,
            "proven": statistics.proven,
            "gap": statistics.gap if isfinite(statistics.gap) else None,
            "worst": statistics.worst,
        }
    return data


def _searched(statistics: Statistics) -> str:
    chosen = f"The fastest of {statistics.measured} measured. " if statistics.measured else ""
    if statistics.worst is not None:
        chosen = (
            "Of the cheapest programs for each microarchitecture, the one with the smallest "
            f"worst-case loss, {statistics.worst:.1%}. "
        )
    if not statistics.specs:
        unproven = "" if statistics.proven else f" {_unproven(statistics)}."
        return f"{chosen}Known from the table, in {1e3 * statistics.seconds:.0f} ms.{unproven}"
    proven = "The cheapest was proven so" if chosen else "Proven cheapest"
    if not statistics.proven:
        proven = _unproven(statistics)
    return (
        f"{chosen}{proven} under the cost model in {statistics.seconds:.2f} s: "
        f"{statistics.specs:,} Specs expanded by {statistics.rewrites:,} rewrites, "
        f"{statistics.bounded:,} relaxed Specs bounding the rest."
    )


def _unproven(statistics: Statistics) -> str:
    """The optimality gap of a program whose search was ended by its budget, in words."""
    if not isfinite(statistics.gap):
        return "Not proven cheapest (a longer --budget may find better)"
    return (
        f"Not proven cheapest, but within {statistics.gap:.0%} of it "
        "(a longer --budget may find better)"
    )


def _print_race(result: dict[str, Any], timings: dict[str, Timing], kernel: api.Kernel) -> None:
    spec = kernel.spec
    console = Console(highlight=False)
    threads = "one thread" if result["threads"] == 1 else f"{result['threads']} threads"
    console.print(
        f"[bold]{escape(result['spec'])}[/bold] for {result['target']}, "
        f"{result['compiler']}, {threads}",
        soft_wrap=True,
    )
    columns = {"gflops": "GFLOP/s"} if _multiplies(spec.operation) else {}
    if not columns or spec.flops < INTENSE * spec.bytes:
        columns |= {"gbytes_s": "GB/s"}
    grid = Grid(box=None, pad_edge=False)
    for heading in ("", "median", "min", *columns.values(), "ratio"):
        grid.add_column(heading, justify="left" if not heading else "right")
    for name, timing in timings.items():
        ratio = result["ratio"].get(name)
        rates = _rates(spec, timing)
        grid.add_row(
            name,
            readable(timing.median_s),
            readable(timing.min_s),
            *(_figure(rates[rate]) for rate in columns),
            "" if ratio is None else f"{ratio:.2f}x",
        )
    console.print(grid)
    if result["predicted_us"] is not None:
        console.print(f"[dim]{_prediction_text(result['predicted_us'])}[/dim]")
    for rival in result["vs"].values():
        console.print(f"[dim]{rival['version']}; a ratio above 1: we are faster[/dim]")
    console.print(f"[dim]{escape(result['cpu'])}; {result['costs']}[/dim]", soft_wrap=True)
    if any(ratio < 1 for ratio in result["ratio"].values()):
        console.print(_advice(result), soft_wrap=True)
    if result["verified"]:
        error = result["max_error"]
        accuracy = f"largest error {error:.1e}" if error else "exactly equal"
        console.print(f"verified against NumPy in float64, {accuracy}")
    search = result["search"]
    if search is not None and search["specs"]:
        console.print(
            f"searched {search['specs']:,} Specs in {search['seconds']:.2f} s, "
            f"predicted {cycles(result['cost'])} cycles"
        )
    if kernel.statistics is not None and not kernel.statistics.proven:
        console.print(_unproven(kernel.statistics))
    if search is not None and search["measured"]:
        console.print(f"the fastest of {search['measured']} programs measured")


def _advice(result: dict[str, Any]) -> str:
    """Suggestions for when another library is faster."""
    known = "in a minute, `morello calibrate` measures what this machine's costs are; "
    path = chosen_path(host_cpu())
    calibrated = path is not None and load(path).measured == "calibrate"
    if calibrated or result["target"] != "native":
        known = ""
    return f"Slower? {known}`--measure 12` times the first twelve choices and keeps the fastest."


def _multiplies(operation: Operation) -> bool:
    """Whether there are matmuls or convolutions in it."""
    parts = [component.operation for component in operation.components] or [operation]
    return any(part.name.startswith(("Matmul", "Conv")) for part in parts)


def _figure(rate: float) -> str:
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.1g}"


def readable(seconds: float) -> str:
    """A time with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _print_json(data: dict[str, Any]) -> None:
    print(json.dumps(data, indent=2))


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """Reports the progress of a search: a bar on the terminal after `PATIENCE_S`."""
    console = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("searching"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[specs]:,} Specs, {task.fields[rewrites]:,} rewrites"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("", total=None, specs=0, rewrites=0)
    began = time.perf_counter()

    def report(specs: int, rewrites: int) -> None:
        if time.perf_counter() - began > PATIENCE_S and not bar.live.is_started:
            bar.start()
        bar.update(task, specs=specs, rewrites=rewrites)

    try:
        yield report
    finally:
        bar.stop()
