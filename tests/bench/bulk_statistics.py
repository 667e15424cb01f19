# SPDX-License-Identifier: Apache-2.0
# What bench bulk computes: by how much a job is slowed, from its phases, and how well that is known; pure.
import math
import statistics

BLOCKS = 24  # of time, as noisectl project has them (ExcessBlocks::kBlocks)
STUDENT = 2.069  # of 95%, for one less than these
LARGEST_ERROR = 0.35  # of a logarithm, as in noisectl project: beyond it, a few events made the figure


def expected_maximum(values, ranks):
    """Mean over all ways to choose so many of the values (sorted) of the largest of these: without bias, where values
    are independent, and without the chance of one way to group them."""
    weight, total = ranks / len(values), 0.0  # that the largest of all is among the chosen
    for place in range(len(values), ranks - 1, -1):
        total += weight * values[place - 1]
        weight *= (place - ranks) / (place - 1) if place > 1 else 0
        if weight < 1e-15:
            break
    return total


class Excess:
    """By how much of the grain a job is slowed; `error` is the standard error of its logarithm."""

    def __init__(self, value, error):
        self.value, self.error = value, error

    def known(self):
        return self.value > 0 and self.error <= LARGEST_ERROR

    def interval(self):
        factor = math.exp(STUDENT * self.error)
        return self.value / factor, self.value * factor


def of_phases(excess, grain, ranks):
    """Of one run, by how much the figure changes without each block of time in turn (delete-one jackknife)."""
    length = -(-len(excess) // BLOCKS)
    without = [expected_maximum(sorted(excess[:i] + excess[i + length:]), ranks) for i in range(0, len(excess), length)]
    value = expected_maximum(sorted(excess), ranks) / grain
    if min(without) <= 0:
        return Excess(value, 1)
    logs = [math.log(each) for each in without]
    mean = statistics.fmean(logs)
    return Excess(value, math.sqrt(sum((each - mean) ** 2 for each in logs) * (len(logs) - 1) / len(logs)))


def of_projection(slowdown):
    """From noisectl's JSON; nothing where it needs more to be observed."""
    if slowdown["value"] is None:
        return None
    excess = slowdown["value"] - 1
    low = max(slowdown["low"] - 1, excess / 100)  # the interval of a skewed figure may reach down to nothing
    return Excess(excess, math.log((slowdown["high"] - 1) / low) / 2 / STUDENT)


def ratio(measured, predicted):
    return Excess(measured.value / predicted.value, math.hypot(measured.error, predicted.error))


def undisturbed(run):
    """What each phase would have taken alone: by the clock of the processor before and after it, and by that of the
    slowest rank."""
    ranks, every = run["undisturbed_ns"], run["every"]
    return [max((rank[i // every] + rank[i // every + 1]) / 2 for rank in ranks) for i in range(len(run["phases_ns"]))]
