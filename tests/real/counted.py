# SPDX-License-Identifier: Apache-2.0
# counted.py FILE COMMAND...: runs a command, and writes what the kernel has counted of it and of all its descendants
# that were waited for, and how often any CPU has handled received packets meanwhile. The number of this process is
# there too: it is watched with the command, and not meant.
import json
import os
import resource
import sys


def net_rx():
    with open("/proc/softirqs", encoding="ascii") as softirqs:
        return sum(int(each) for line in softirqs if line.lstrip().startswith("NET_RX:") for each in line.split()[1:])


net_rx_before = net_rx()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status = os.waitpid(pid, 0)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w", encoding="ascii") as file:
    json.dump({"pid": os.getpid(), "minor_faults": usage.ru_minflt, "major_faults": usage.ru_majflt,
               "voluntary": usage.ru_nvcsw, "involuntary": usage.ru_nivcsw, "net_rx": net_rx() - net_rx_before}, file)
os._exit(os.waitstatus_to_exitcode(status))
