"""A Ray cluster of several nodes on this machine: runs a command that gets its address in place of @ADDRESS@,
and kills a node, which another one replaces, after every so many seconds.

    python ray_cluster.py NODES SECONDS COMMAND...
"""

import contextlib
import random
import re
import subprocess
import sys
import time
from pathlib import Path

from ray.cluster_utils import Cluster


def running() -> int:
    """How many parts run on this machine."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            lines.append(path.read_bytes().split(b"\0"))
    return sum(words[1:2] == [b"part"] and words[0].endswith(b"/triad") for words in lines)


NODES, SECONDS = int(sys.argv[1]), float(sys.argv[2])
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
nodes = [cluster.add_node(num_cpus=1) for _ in range(NODES)]
child = subprocess.Popen([word.replace("@ADDRESS@", cluster.address) for word in sys.argv[3:]])
killed, last, peak, parts = 0, time.monotonic(), 0, 0
while child.poll() is None:
    time.sleep(0.2)
    status = Path(f"/proc/{child.pid}/status").read_text()  # it is not waited for yet
    peak = max([peak, *(int(kib) >> 10 for kib in re.findall(r"VmHWM:\s*(\d+)", status))])
    parts = max(parts, running())
    if SECONDS and killed < NODES and time.monotonic() - last > SECONDS:
        cluster.remove_node(nodes.pop(random.randrange(len(nodes))), allow_graceful=False)
        nodes.append(cluster.add_node(num_cpus=1))
        killed, last = killed + 1, time.monotonic()
print(f"killed {killed} nodes, the command itself took at most {peak} MiB, {parts} parts at once", file=sys.stderr)
cluster.shutdown()
sys.exit(child.returncode)
