"""Measures the simulator's speed, memory and start-up against their targets, the throughput of fiber and CAB, and the
boards on an FPGA.

Speeds are ratios of two things measured right after each other, both printed. A machine that is busy with other things
gives wrong results. Exit code 1: a target was missed.
"""

from ..live import telling
from .errors import DONE, FAILED, UsageError
from .results import Result, add_json_option, check_target, save_json

HELP = "run the benchmarks"

_QUICK = 0.25


def configure(parser):
    """Options of ``nectar bench``."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="benchmarks to run (default: all); --list tells which there are"
    )
    parser.add_argument("--list", action="store_true", help="tell what there is to measure, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="measure for a shorter time, less exactly")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="place and route of 'fpga' on a Dask cluster, as tcp://host:8786"
    )
    add_json_option(parser)


def execute(options):
    """Runs the benchmarks, one after the other."""
    from ..verification.benchmarks.catalogue import BENCHMARKS
    from ..verification.benchmarks.outcome import NotInstalled

    for name in options.names:
        if name not in BENCHMARKS:
            raise UsageError(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    if options.scheduler is not None and options.names != ["fpga"]:
        raise UsageError("--scheduler: all other benchmarks measure this machine; only 'nectar bench fpga' takes it")
    check_target("--json", options.json)
    chosen = [benchmark for benchmark in BENCHMARKS.values() if not options.names or benchmark.name in options.names]
    if options.list:
        for benchmark in chosen:
            print(f"{benchmark.name:8}{benchmark.claim}")
        return DONE
    more = {} if options.scheduler is None else {"scheduler": options.scheduler}
    results = []
    for number, benchmark in enumerate(chosen, 1):
        try:
            with telling(f"measuring {benchmark.name} ({number} of {len(chosen)})"):
                outcomes = benchmark.measure(_QUICK if options.quick else 1, **more)
        except NotInstalled as error:
            if options.names:
                raise UsageError(f"{benchmark.name} cannot be measured: {error}") from error
            print(f"{benchmark.name:8}not measured: {error}", flush=True)
            results.append(
                Result(f"bench.{benchmark.name}", None, more={"claim": benchmark.claim, "reason": str(error)})
            )
            continue
        for outcome in outcomes if isinstance(outcomes, list) else [outcomes]:
            results.append(_told(benchmark, outcome))
    save_json(options.json, results)
    return DONE if all(result.ok is not False for result in results) else FAILED


def _told(benchmark, outcome):
    """Prints what was found; the Result of it."""
    limit = "at most" if outcome.at_most else "at least"
    unit = f" {outcome.unit}" if outcome.unit else ""
    target = (
        f"({limit} {outcome.target:g}{unit}) {'ok    ' if outcome.ok else 'MISSED'}"
        if outcome.target is not None
        else "(no target)"
    )
    digits = f"{outcome.value:8d}" if isinstance(outcome.value, int) else f"{outcome.value:8.3g}"
    print(f"{benchmark.name:8}{digits}{unit:6} {target}  {benchmark.claim}")
    for line in outcome.text.splitlines():
        print(f"        {line}", flush=True)
    name = ".".join(["bench", benchmark.name, *[outcome.part] * bool(outcome.part)])
    return Result(
        name,
        outcome.value,
        outcome.unit or None,
        outcome.target,
        outcome.ok,
        {"target_is": limit, "claim": benchmark.claim, "measured": outcome.measured},
    )
