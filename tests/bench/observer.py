# SPDX-License-Identifier: Apache-2.0
# What interruptions take longer because they are watched, by noised and by its peers on the same tracepoints, and with
# programs there that do nothing, of which no tool that uses these tracepoints can be cheaper: on the
# CPU that is watched, on the one that causes them, and on one that has nothing to do with it. Who watches comes and goes
# in turns, while one loop measures all the time.
import contextlib
import json
import os
import random
import select
import shutil
import signal
import statistics
import subprocess
import time

from machine import command, output_of, quiet, say

# Rounds of each who watches, three at least; as many as it takes until the intervals are narrow, if not set.
ROUNDS = int(os.environ.get("NOISED_BENCH_ROUNDS", "0"))
LEAST, FEWEST, MOST = 3, 12, 40  # of fewer than three there is no interval
TURNS = 10  # a round
TURN_S = 0.1
# bpftrace does not tell when it has attached everything, nor does perf sched. How long they take was not measured: a peer
# that takes longer than this is shown as cheaper than it is.
SETTLE_S = 1.0
# What a turn leaves in caches: not measured.
PASS_S = 0.02


# tracefs and debugfs need not be mounted; bpftrace 0.17 looks for tracepoints below debugfs only.
MOUNTED = """for fs in tracefs:/sys/kernel/tracing debugfs:/sys/kernel/debug; do
    mountpoint -q "${fs#*:}" || mount -t "${fs%:*}" none "${fs#*:}"
done; exec "$@\""""


def mounted(*command):
    """A command with both mounted, for itself alone."""
    return ("unshare", "-m", "sh", "-c", MOUNTED, "sh", *command)


def tracepoints(names):
    """group:name of those of our programs that run on a tracepoint of the same name, and that perf may sample: of the
    irq_work vector it may not, since it raises that itself."""
    groups = output_of(*mounted("sh", "-c", "cd /sys/kernel/tracing/events && ls -d */*/")).split("/\n")
    by_name = {path.rpartition("/")[2]: path.replace("/", ":") for path in groups}
    return [by_name[name] for name in names if name in by_name and not name.startswith("irq_work_")]


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


class Noised:
    """Attaches and detaches by a byte each: its programs, or such that do nothing."""
    most, anew = MOST, False

    def __init__(self, *arguments):
        self.arguments = arguments

    def __enter__(self):
        self.process = subprocess.Popen(command(*self.arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names = self.process.stdout.readline().split()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def attach(self):
        """Or detach; returns the number of records since the last time."""
        self.process.stdin.write("+")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("it ended early")
        return int(answer)

    def detach(self):
        if self.attach() == 0:
            raise RuntimeError("nothing was recorded of the watched CPU")


class Perf:
    """Records all the time; its events are on and off. What one costs that is off, some ns, is not seen."""
    most, anew = MOST, False

    def __init__(self, events, cpu, directory):
        self.events, self.cpu, self.directory = events, cpu, directory

    def __enter__(self):
        control = [f"{self.directory}/perf.{name}" for name in ("control", "ack")]
        for path in control:
            with contextlib.suppress(FileExistsError):  # of one that did not begin
                os.mkfifo(path)
        arguments = [word for event in self.events for word in ("-e", event)]
        self.log = open(f"{self.directory}/perf.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            command(*mounted("perf", "record", "-q", "-D", "-1", "--control", f"fifo:{','.join(control)}", "-C", self.cpu,
                             "-o", f"{self.directory}/perf.data", *arguments)), stdout=self.log, stderr=self.log)
        # Both ways at once: neither end waits for the other.
        self.control, self.ack = (os.open(path, os.O_RDWR) for path in control)
        try:
            self.attach()
            self.detach()
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.control)
        os.close(self.ack)
        self.log.close()
        for name in ("control", "ack", "data"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{self.directory}/perf.{name}")

    def say(self, what):
        os.write(self.control, what)
        for _ in range(100):
            if select.select([self.ack], [], [], 0.1)[0]:
                return os.read(self.ack, 16)
            if self.process.poll() is not None:
                self.log.seek(0)
                raise RuntimeError(f"it ended early: {' '.join(self.log.read().split())[:200]}")
        raise RuntimeError("it did not answer within 10 s")

    def attach(self):
        self.say(b"enable\n")

    def detach(self):
        self.say(b"disable\n")


class Bpftrace:
    """Begins and ends with each turn, since it cannot pause, and that takes seconds."""
    most, anew = LEAST, True

    def __init__(self, events, cpu, directory):
        self.script, self.log = f"{directory}/observer.bt", f"{directory}/bpftrace.log"
        with open(self.script, "w", encoding="ascii") as file:
            file.write(bpftrace_script(events, cpu))

    def __enter__(self):
        self.process = None
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.detach()

    def attach(self):
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command(*mounted("bpftrace", self.script)), stdout=log, stderr=log)
        time.sleep(SETTLE_S)
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8") as log:
                raise RuntimeError(f"it ended early: {' '.join(log.read().split())[:200]}")

    def detach(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


class Loop:
    """Measures in turns, and tells each: of each kind of interruption how many there were, and the middle one's ns."""

    def __init__(self, program, loop_cpu, watched_cpu, hz):
        self.arguments = program, loop_cpu, watched_cpu, hz

    def __enter__(self):
        self.process = subprocess.Popen(command(*self.arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.thread = int(self.process.stdout.readline())
        self.tell()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def tell(self):
        self.process.stdin.write(".")
        self.process.stdin.flush()

    def turn(self, seconds=TURN_S):
        time.sleep(PASS_S)
        self.tell()
        self.process.stdout.readline()  # what came and went meanwhile
        time.sleep(seconds)
        self.tell()
        return json.loads(self.process.stdout.readline())


def median_interval(values):
    """The median, and the interval that holds it in 95% of 2000 resamplings."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[1949]


def grouped_interval(groups):
    """The same of all values, where those of a group may be alike: whole groups are resampled. Of few groups it is too
    narrow."""
    chance = random.Random(1)
    medians = sorted(statistics.median(value for group in chance.choices(groups, k=len(groups)) for value in group)
                     for _ in range(2000))
    return statistics.median(value for group in groups for value in group), medians[50], medians[1949]


def narrow(groups):
    """True if the interval is within 10% of the figure, or 20 ns."""
    middle, low, high = grouped_interval(groups)
    return max(high - middle, middle - low) <= max(20, abs(middle) / 10)


def compare(loop, make, kinds):
    """What each kind of interruption took longer while it was watched: of every turn, against the two beside it. One who
    watches comes anew every few turns: where its memory happens to lie changes a figure by as much as 100 ns."""
    added, bare = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    for number in range(max(LEAST, ROUNDS) if ROUNDS else MOST):
        with make() as watcher:
            before = loop.turn()
            for turn in range(TURNS):
                if turn == 0 or watcher.anew:
                    for groups in added.values():
                        groups.append([])
                watcher.attach()
                during = loop.turn()
                watcher.detach()
                after = loop.turn()
                for kind in kinds:
                    turns = [turn[kind] for turn in (before, during, after)]
                    if min(count for count, _ in turns) >= 5:
                        added[kind][-1].append(turns[1][1] - (turns[0][1] + turns[2][1]) / 2)
                        bare[kind].append(turns[2][1])
                before = after
            most = min(MOST, watcher.most)
        seen = {kind: groups for kind, all_groups in added.items() if (groups := [each for each in all_groups if each])}
        if not ROUNDS and (number + 1 >= most or number + 1 >= FEWEST and all(map(narrow, seen.values()))):
            break
    return {kind: (*grouped_interval(groups), statistics.median(bare[kind]), sum(map(len, groups)))
            for kind, groups in seen.items()}


def ticks_a_second(cpu):
    """As often as a CPU that is busy is interrupted by its timer, in steps that kernels are built with."""
    def count():
        with open("/proc/interrupts", encoding="ascii") as file:
            column = file.readline().split().index(f"CPU{cpu}")
            return next(int(line.split()[column + 1]) for line in file if line.split()[0] == "LOC:")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        begin, begin_count = time.monotonic(), count()
        while time.monotonic() - begin < 1:
            pass
        counted = (count() - begin_count) / (time.monotonic() - begin)
    finally:
        os.sched_setaffinity(0, before)
    return min((100, 250, 300, 1000), key=lambda hz: abs(hz - counted))


# What is shown of each place: the key, in words, and what is aimed at for noised.
PLACES = {
    "watched": [("tick", "a tick", None), ("timer", "a timer that wakes a task", 1000),
                ("call", "a function that another CPU calls", None), ("wakeup", "a task that another CPU wakes", None)],
    "causing": [("caller", "a function called on the watched CPU, until it has run", 200),
                ("waker", "a task woken there", None)],
    "other": [("tick", "a tick", 100), ("timer", "a timer that wakes a task", 100)],
}


def observe(build, cpu, other, directory):
    """Rows of what was added: by whom, where, to what."""
    hz = ticks_a_second(cpu)
    rows = []
    for loop_cpu, places in ((cpu, ("watched", "causing")), (other, ("other",))):
        kinds = [key for place in places for key, _, _ in PLACES[place]]
        with Loop(f"{build}/tests/bench/bench_turns", loop_cpu, cpu, hz) as loop:
            with Noised(f"{build}/tests/bench/bench_observer", cpu, loop.thread) as noised:
                events = tracepoints(noised.names)
            for name, make in (("noised", lambda: Noised(f"{build}/tests/bench/bench_observer", cpu, loop.thread)),
                               ("nothing", lambda: Noised(f"{build}/tests/bench/bench_observer", cpu, loop.thread, "nothing")),
                               ("perf", lambda: Perf(events, cpu, directory)),
                               ("bpftrace", lambda: Bpftrace(events, cpu, directory))):
                try:
                    if name in ("perf", "bpftrace") and shutil.which(name) is None:
                        raise RuntimeError("not installed")
                    say(f"{name}, the loop on CPU {loop_cpu}")
                    found = compare(loop, make, kinds)
                except RuntimeError as reason:
                    if name in ("noised", "nothing"):
                        raise
                    say(f"{name} is left out: {reason}")
                    continue
                for place in places:
                    for key, what, aim in PLACES[place]:
                        if key not in found:
                            continue
                        ns, low, high, bare, turns = found[key]
                        rows.append({"who": name, "place": place, "what": what, "key": key, "added_ns": round(ns, 1),
                                     "ci95_low": round(low, 1), "ci95_high": round(high, 1), "bare_ns": round(bare, 1),
                                     "turns": turns, "aim_ns": aim if name == "noised" else None})
    return rows, len(events), hz


def observer(build, cpus, directory):
    cpu, other = cpus[-1], cpus[0]
    with quiet(build, cpu):
        rows, events, hz = observe(build, cpu, other, directory)
    print(f"observer: ns that interruptions take longer while CPU {cpu} is watched; {events} tracepoints (noised: also those"
          f" of\n  irq_work), turns of {TURN_S * 1e3:.0f} ms with and without, medians, and their intervals by resampling of rounds")
    for place, where in (("watched", f"on CPU {cpu}"), ("causing", f"on CPU {other}, which does it to CPU {cpu}"),
                         ("other", f"on CPU {other}, which does nothing to CPU {cpu}")):
        print(f"  {where + ':':58}{'alone':>8}  {'added by noised':>24}{'by empty programs':>24}{'by perf':>24}{'by bpftrace':>24}")
        for key, what, aim in PLACES[place]:
            found = {row["who"]: row for row in rows if row["place"] == place and row["key"] == key}
            if "noised" not in found:
                print(f"    {what:56}  not seen")
                continue
            cells = [f"{found[who]['added_ns']:.0f} ({found[who]['ci95_low']:.0f} to {found[who]['ci95_high']:.0f})"
                     if who in found else "-" for who in ("noised", "nothing", "perf", "bpftrace")]
            print(f"    {what:56}{found['noised']['bare_ns']:8.0f}  {cells[0]:>24}{cells[1]:>24}{cells[2]:>24}{cells[3]:>24}"
                  + (f"   (aim: {aim})" if aim else ""))
    print()
    # Of the CPU, by its ticks alone.
    ticks = {row["who"]: row for row in rows if row["place"] == "watched" and row["key"] == "tick"}
    share = {name: {key: round(row[key] * hz / 1e9, 7) for key in ("added_ns", "ci95_low", "ci95_high")}
             for name, row in ticks.items()}
    own = share.get("noised", {})
    flat = {f"{row['place']}_{row['key']}_added_ns": row["added_ns"] for row in rows if row["aim_ns"] is not None}
    return {"observer": flat | {"added_share": own.get("added_ns"), "ci95_low": own.get("ci95_low"),
                         "ci95_high": own.get("ci95_high"), "ticks_per_second": hz, "rows": rows,
                         **{f"{name}_added_share": share.get(name, {}).get("added_ns") for name in ("nothing", "perf", "bpftrace")}}}
