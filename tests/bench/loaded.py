# SPDX-License-Identifier: Apache-2.0
# What a daemon does on CPUs that everybody wants: whether its drains come in time, what is lost, and what it takes.
import glob
import os
import re
import socket
import subprocess
import time

from machine import Daemon, command, say

SECONDS = int(os.environ.get("NOISED_BENCH_SECONDS", "10"))
INTERVAL_NS = 2**24  # of the drains; twice that is the bound of a bucket
LATE_NS = 2**25
PAGE = os.sysconf("SC_PAGESIZE")

# Arguments for stress-ng, by the number of CPUs. Classes run one stressor after the other, all of them in the time.
LOADS = {
    "busy": lambda cpus: ("--cpu", 20 * cpus, "--switch", cpus),
    "class scheduler": lambda cpus: ("--class", "scheduler", "--sequential", cpus),
    "class interrupt": lambda cpus: ("--class", "interrupt", "--sequential", cpus),
    "class vm": lambda cpus: ("--class", "vm", "--sequential", cpus),
}


def scrape(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: noised\r\nConnection: close\r\n\r\n")
        text = b""
        while piece := connection.recv(1 << 16):
            text += piece
    return text.decode()


def drains_of(path):
    """How many came so far, how many of them no more than twice the interval after the one before, and the time."""
    text = scrape(path)

    def sample(pattern):
        return float(re.search(rf"^noised_drain_interval_seconds{pattern} (\S+)$", text, re.MULTILINE).group(1))

    return sample("_count"), sample(rf'_bucket{{le="{LATE_NS / 1e9:g}\d*"}}'), sample("_sum")


def cpu_time_of(process):
    """Of all threads but loops, which measure."""
    total_ns = 0
    for task in glob.glob(f"/proc/{process.pid}/task/*"):
        with open(f"{task}/comm", encoding="utf-8") as file:
            if re.fullmatch(r"noised/\d+", file.read().strip()):
                continue
        with open(f"{task}/schedstat", encoding="ascii") as file:
            total_ns += int(file.read().split()[0])
    return total_ns


def resident_bytes(process):
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE


def stressors_of(load, cpus):
    """One for all of the time, or those of a class, among which it is divided."""
    arguments = LOADS[load](cpus)
    if "--class" not in arguments:
        return 1
    names = subprocess.run(("stress-ng", "--class", f"{arguments[1]}?"), stdout=subprocess.PIPE, text=True, check=False)
    return max(1, len(names.stdout.split(":")[-1].split()))


def run_load(load, cpus):
    each = max(1, SECONDS // stressors_of(load, cpus))
    # Some stressors fail where the kernel lacks what they stress: that is not what is measured.
    subprocess.run(command("stress-ng", "--quiet", *LOADS[load](cpus), "--timeout", f"{each}s"), check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(daemon, load, cpus):
    with daemon.running() as process:
        time.sleep(1.5)  # until it has measured what entries cost
        lost, drains, own_ns, began_ns = (daemon.answer("status")["lost"]["events"], drains_of(daemon.socket),
                                          cpu_time_of(process), time.monotonic_ns())
        run_load(load, cpus)
        took_ns = time.monotonic_ns() - began_ns
        own_ns = cpu_time_of(process) - own_ns
        came, in_time, _ = (after - before for after, before in zip(drains_of(daemon.socket), drains))
        status = daemon.answer("status")
        return {"seconds": round(took_ns / 1e9, 1), "drains_due": round(took_ns / INTERVAL_NS), "drains": round(came),
                "late": round(came - in_time), "lost": status["lost"]["events"] - lost, "realtime": status.get("realtime"),
                "cpu_share": round(own_ns / took_ns, 5), "rss_bytes": resident_bytes(process)}


def daemons(build, cpus, directory):
    """By what is measured, a daemon that does it; a loop runs on the last CPU."""
    found = {}
    for name, of, urgency, more in (("watch, nice 0", "all", "nice = 0", ["--mode", "watch"]),
                                    ("watch", "all", "", ["--mode", "watch"]),
                                    ("watch, realtime", "all", "realtime = 99", ["--mode", "watch"]),
                                    ("loop", cpus[-1], "", []), ("loop, realtime", cpus[-1], "realtime = 99", [])):
        daemon = Daemon(build, of, directory)
        settings = f"{directory}/{len(found)}.conf"
        with open(settings, "w", encoding="ascii") as file:
            file.write(f"[trace]\ndrain_interval = '{INTERVAL_NS}ns'\n[service]\n{urgency}\n")
        daemon.command[daemon.command.index("--config") + 1] = settings
        daemon.command[daemon.command.index("--log-level") + 1] = "error"  # each tells what a container refuses
        daemon.command += more + ["--web.listen-address", ""]
        found[name] = daemon
    return found


def loaded(build, cpus, directory):
    print(f"loaded: {len(cpus)} CPUs that stress-ng wants for itself, {SECONDS} s or more of each load; a drain is due each"
          f" {INTERVAL_NS / 1e6:.1f} ms,\n  and late after twice that; lost: events")
    print(f"  {'load':18}{'noised':16}{'due':>6}{'drains':>8}{'late':>6}{'lost':>10}{'of a CPU':>10}{'resident':>11}")
    rows = {}
    for load in LOADS:
        for name, daemon in daemons(build, cpus, directory).items():
            say(f"{load}: {name}")
            row = measure(daemon, load, len(cpus))
            if name.endswith("realtime") and not row["realtime"]:
                say("  the real-time priority was refused here: left out")
                continue
            rows[f"{load}: {name}"] = row
            print(f"  {load:18}{name:16}{row['drains_due']:6}{row['drains']:8}{row['late']:6}{row['lost']:10}"
                  f"{row['cpu_share']:10.2%}{row['rss_bytes'] / 2**20:7.1f} MiB", flush=True)
    print()
    return {"loaded": rows}
