# SPDX-License-Identifier: Apache-2.0
# The machine under the benchmarks: its CPUs, the programs that run on it, and leaving it as it was.
import contextlib
import json
import os
import signal
import subprocess
import sys
import time


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def fail(text):
    sys.exit(f"tests/bench/run: {text}")


def exit_on_signals():
    """Turns the first signal that ends us into an exit that cleans up; further ones must not interrupt that."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def handler(number, _frame):
        for other in ending:
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in ending:
        signal.signal(number, handler)


def online_cpus():
    cpus = []
    with open("/sys/devices/system/cpu/online", encoding="ascii") as file:
        for part in file.read().strip().split(","):
            first, _, last = part.partition("-")
            cpus += range(int(first), int(last or first) + 1)
    return cpus


# Ends with us even if we are killed.
def command(program, *arguments):
    return ["setpriv", "--pdeathsig", "TERM", program, *map(str, arguments)]


def output_of(program, *arguments):
    """Standard output of a program, which must succeed."""
    with running(program, *arguments, stdout=subprocess.PIPE, text=True) as process:
        output, _ = process.communicate()
    if process.returncode != 0:
        fail(f"{os.path.basename(program)} failed with exit code {process.returncode}")
    return output


@contextlib.contextmanager
def running(program, *arguments, **options):
    """A process that is ended, by its own id, at the end of the block."""
    process = subprocess.Popen(command(program, *arguments), **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def quiet(build, cpu):
    """Keeps other user tasks off a CPU, and gives it back at the end, also if we are killed.

    Losing nothing needs it on virtual machines whose host shadows the guest's page tables: the first process of such
    a guest was seen to run kernel text from before tracepoints were switched on, so its switches are never traced and
    noised counts them as unpaired.
    """
    with subprocess.Popen([f"{build}/tests/quiet/quiet", str(cpu)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if not process.stdout.readline():
            fail(f"CPU {cpu} could not be made quiet")
        yield  # the program ends when its input is closed


class Daemon:
    """noised with its default settings on one CPU, and noisectl to ask it."""

    def __init__(self, build, cpu, directory):
        self.noisectl = f"{build}/src/noisectl/noisectl"
        self.socket = f"{directory}/noised.sock"
        settings = f"{directory}/empty.conf"  # not what this machine has in /etc/noised
        open(settings, "w", encoding="ascii").close()
        self.command = [f"{build}/src/noised/noised", "--config", settings, "--cpus", cpu, "--socket", self.socket,
                        "--log-level", "warning"]

    @contextlib.contextmanager
    def running(self):
        with running(*self.command) as process:
            for _ in range(100):
                if process.poll() is not None:
                    fail("noised did not start")
                if self.ask("status", stderr=subprocess.DEVNULL).returncode == 0:
                    break
                time.sleep(0.1)
            else:
                fail("noised did not answer within 10 s")
            yield process

    def ask(self, what, **options):
        return subprocess.run([self.noisectl, "--socket", self.socket, what, "--json"], stdout=subprocess.PIPE,
                              check=False, text=True, **options)

    def answer(self, what):
        """What noised answers, which it must."""
        asked = self.ask(what)
        if asked.returncode != 0:
            fail(f"noisectl {what} failed with exit code {asked.returncode}")
        return json.loads(asked.stdout)
