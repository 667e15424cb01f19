# SPDX-License-Identifier: Apache-2.0
# What it costs programs to be watched on all CPUs: by noised, by programs that only read the clock, and by perf sched
# record beside it.
import contextlib
import glob
import os
import shutil
import statistics
import subprocess
import time

from machine import Daemon, output_of, running, say
from observer import SETTLE_S, median_interval, mounted

ROUNDS = int(os.environ.get("NOISED_BENCH_ROUNDS", "20"))
# Fixed work on every CPU, in about a second: what the aim names, and what suffers most.
PROGRAMS = {
    "compute": ("--matrix", "--matrix-size", "128", "--matrix-ops", "13000"),
    "fork": ("--fork", "--fork-ops", "2200"),
    "network": ("--sock", "--sock-ops", "900"),
    "barrier": ("--futex", "--futex-ops", "40000"),
    # Pairs of processes that wake each other: on one CPU, or where the scheduler puts them, which changes.
    "switches_on_one_cpu": ("--switch", "--switch-ops", "150000", "--taskset", "1"),
    "switches": ("--switch", "--switch-ops", "250000"),
}


def stress(arguments, cpus):
    flag, *rest = arguments
    return ("stress-ng", "--quiet", flag, len(cpus), *rest)


def context_switches():
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("ctxt"))


def cpu_time_of(process):
    total_ns = 0
    for path in glob.glob(f"/proc/{process.pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            total_ns += int(file.read().split()[0])
    return total_ns


def timed(arguments, cpus, watcher):
    """Wall time, switches a second, and the share of the CPUs that the watching process took meanwhile."""
    own_ns = cpu_time_of(watcher) if watcher else 0
    switches = context_switches()
    began = time.monotonic_ns()
    output_of(*stress(arguments, cpus))
    took_ns = time.monotonic_ns() - began
    if watcher:
        own_ns = cpu_time_of(watcher) - own_ns
    return took_ns, (context_switches() - switches) * 1e9 / took_ns, own_ns / took_ns / len(cpus)


@contextlib.contextmanager
def perf_sched(directory):
    data = f"{directory}/sched.data"
    with running(*mounted("perf", "sched", "record", "-q", "-o", data), stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL) as process:
        time.sleep(SETTLE_S)
        if process.poll() is not None:
            raise RuntimeError("perf sched record ended early")
        yield process
    with contextlib.suppress(FileNotFoundError):
        os.remove(data)


@contextlib.contextmanager
def clock_only(build):
    """The pins, and with them the programs, are gone with the mount, which is the process's own."""
    script = ("mount -t bpf bpf /sys/fs/bpf && bpftool prog loadall \"$1\" /sys/fs/bpf/clock autoattach && echo"
              " && exec sleep inf")
    with running("unshare", "-m", "sh", "-c", script, "sh", f"{build}/tests/bench/clock_only.bpf.o",
                 stdout=subprocess.PIPE) as process:
        if process.stdout.readline() != b"\n":
            raise RuntimeError("the programs that only read the clock were not loaded")
        yield None


@contextlib.contextmanager
def watching(daemon):
    with daemon.running() as process:
        time.sleep(SETTLE_S)  # until it has measured what entries cost
        yield process


def watchers(build, directory):
    daemon = Daemon(build, "all", directory)
    daemon.command += ["--mode", "watch"]
    found = {"nobody": contextlib.nullcontext, "noised": lambda: watching(daemon), "clock": lambda: clock_only(build)}
    if shutil.which("perf") is None:
        say("perf is left out: not installed")
        return found
    try:
        with perf_sched(directory):
            found["perf"] = lambda: perf_sched(directory)
    except RuntimeError as reason:
        say(f"perf is left out: {reason}")
    return found


def measure(arguments, cpus, found):
    """By watcher, the shares added in each round; the shares of the CPUs that each took itself; and the switches a
    second with nobody."""
    added = {name: [] for name in found if name != "nobody"}
    own = {name: [] for name in added}
    rates = []
    for number in range(ROUNDS):
        took = {}
        names = list(found)
        for name in names[number % len(names):] + names[:number % len(names)]:
            with found[name]() as watcher:
                took[name], rate, own_share = timed(arguments, cpus, watcher)
            if name == "nobody":
                rates.append(rate)
            else:
                own[name].append(own_share)
        for name, shares in added.items():
            shares.append(took[name] / took["nobody"] - 1)
    return added, {name: statistics.median(shares) for name, shares in own.items()}, statistics.median(rates)


def watch(build, cpus, directory):
    found = watchers(build, directory)
    print(f"watch: time added to programs on {len(cpus)} CPUs that are watched for their tasks;"
          f"\n  {ROUNDS} interleaved rounds, median and its 95% interval; clock: programs that only read the clock where"
          "\n  noised's do on a busy CPU")
    programs = {}
    for name, arguments in PROGRAMS.items():
        say(f"watching {name}")
        added, own, rate = measure(arguments, cpus, found)
        result = {"switches_per_second": round(rate)}
        print(f"  {name}, {rate:.0f} switches a second")
        for watcher, shares in added.items():
            share, low, high = median_interval(shares)
            process = "" if watcher == "clock" else f"; its process took {own[watcher]:.2%} of the CPUs"
            print(f"    {watcher:8}{share:+8.2%}, {low:+.2%} to {high:+.2%}{process}")
            result |= {f"{watcher}_added_share": round(share, 5), f"{watcher}_ci95_low": round(low, 5),
                       f"{watcher}_ci95_high": round(high, 5), f"{watcher}_process_share": round(own[watcher], 5)}
        programs[name] = result
    print()
    first = programs["compute"]
    return {"watch": {"added_share": first["noised_added_share"], "perf_added_share": first.get("perf_added_share"),
                      "programs": programs}}
