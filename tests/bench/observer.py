# SPDX-License-Identifier: Apache-2.0
# What it costs an application to be watched: by noised, and by its peers on the same tracepoints.
import contextlib
import glob
import json
import os
import random
import shutil
import statistics
import subprocess
import time

from machine import output_of, quiet, running, say

ROUNDS = 20
# perf and bpftrace do not tell when they have attached everything; each was seen to take a third of this.
SETTLE_S = 1.5


def tracepoints(names):
    """group:name of those of our programs that run on a tracepoint of the same name."""
    found = []
    for name in names:
        paths = glob.glob(f"/sys/kernel/tracing/events/*/{name}")
        found += [":".join(path.split("/")[-2:]) for path in paths[:1]]
    return found


def bpftrace_script(events, cpu):
    """For each pair of tracepoints a histogram of the time between them; the others are counted."""
    lines = []
    for event in events:
        begun = event.removesuffix("_exit") + "_entry"
        key = event.replace(":", "_").removesuffix("_entry").removesuffix("_exit")
        if event.endswith("_entry"):
            action = f"@at_{key} = nsecs;"
        elif event.endswith("_exit") and begun in events:
            action = f"@{key} = hist(nsecs - @at_{key});"
        else:
            action = f"@{key} = count();"
        lines.append(f"tracepoint:{event} /cpu == {cpu}/ {{ {action} }}")
    return "\n".join(lines)


class Observers:
    """Each as a context: whoever is watching the CPU, while the block runs."""

    def __init__(self, program, cpu, directory):
        self.program = program
        self.cpu = cpu
        self.directory = directory
        with self.noised() as names:
            self.events = tracepoints(names)
        self.script = f"{directory}/observer.bt"
        with open(self.script, "w", encoding="ascii") as file:
            file.write(bpftrace_script(self.events, cpu))

    @contextlib.contextmanager
    def nobody(self):
        yield

    @contextlib.contextmanager
    def noised(self):
        with running(self.program, self.cpu, stdout=subprocess.PIPE, text=True) as process:
            yield process.stdout.readline().split()

    @contextlib.contextmanager
    def started(self, program, *arguments):
        with open(f"{self.directory}/peer.log", "w", encoding="utf-8") as log:
            with running(program, *arguments, stdout=log, stderr=log) as process:
                time.sleep(SETTLE_S)
                if process.poll() is not None:
                    raise RuntimeError("it ended early")
                yield

    def perf(self):
        events = [word for event in self.events for word in ("-e", event)]
        return self.started("perf", "record", "-q", "-C", self.cpu, "-o", f"{self.directory}/perf.data", *events)

    def bpftrace(self):
        # bpftrace 0.17 looks for tracepoints below debugfs only, which need not be mounted.
        mount = "mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug; exec bpftrace \"$0\""
        return self.started("unshare", "-m", "sh", "-c", mount, self.script)

    def peers(self):
        """Those that run here, by name."""
        usable = {}
        for name, watch in (("perf", self.perf), ("bpftrace", self.bpftrace)):
            try:
                if shutil.which(name) is None:
                    raise RuntimeError("not installed")
                with watch():
                    usable[name] = watch
            except RuntimeError as reason:
                say(f"{name} is left out: {reason}")
        return usable


def median_interval(values):
    """The median, and the interval that holds it in 95% of 2000 resamplings."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[1949]


def measure(build, cpu, directory):
    """Rounds of the same work, watched by each in turn, each in turn the first; and nobody in every round."""
    observers = Observers(f"{build}/tests/bench/bench_observer", cpu, directory)
    watchers = {"nobody": observers.nobody, "noised": observers.noised} | observers.peers()
    added = {name: [] for name in watchers if name != "nobody"}
    rates = []
    with quiet(cpu):
        for number in range(ROUNDS):
            took = {}
            names = list(watchers)
            for name in names[number % len(names):] + names[:number % len(names)]:
                with watchers[name]():
                    result = json.loads(output_of(f"{build}/tests/bench/bench_work", cpu))
                took[name] = result["median_ns"]
                rates.append(result["timer_interrupts_per_second"])
            for name, shares in added.items():
                shares.append(took[name] / took["nobody"] - 1)
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{directory}/perf.data")
    return added, statistics.median(rates), len(observers.events)


def observer(build, cpu, directory):
    added, rate, events = measure(build, cpu, directory)
    print(f"observer: time added to fixed work on CPU {cpu}, interrupted {rate:.0f} times a second by a timer that wakes "
          f"a task;\n  the same {events} tracepoints, {ROUNDS} interleaved rounds, median and its 95% interval")
    results = {}
    for name, shares in added.items():
        share, low, high = results[name] = median_interval(shares)
        print(f"  {name:9}{share:+9.3%}  {low:+9.3%} to {high:+.3%}   {share / rate * 1e9:7.0f} ns an interrupt"
              + ("   (aim: below 0.05% at 1000 a second)" if name == "noised" else ""))
    print()
    share, low, high = results["noised"]
    peers = {f"{name}_added_share": round(results[name][0], 6) if name in results else None
             for name in ("perf", "bpftrace")}
    return {"observer": {"added_share": round(share, 6), "ci95_low": round(low, 6), "ci95_high": round(high, 6),
                         "interrupts_per_second": round(rate)} | peers}
