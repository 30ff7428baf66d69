"""The engine of --on ray, on a ray that is made up here."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ENGINE = Path(__file__).parent.parent / "fleet" / "ray_engine.py"

RAY = """
import json, os
class exceptions:
    RayError = RuntimeError
def init(**options): pass
def shutdown(): pass
def nodes():
    return [{"Alive": True, "Resources": {"CPU": 1, "object_store_memory": int(os.environ["STORE"])}}]
def cluster_resources(): return {"CPU": 1}
def put(value): return value
def remote(**options): return lambda task: task
"""


class ConnectTest(unittest.TestCase):
    """A cluster that cannot hold the program is refused with a sentence: ray.put would wait for ever."""

    def engine(self, store: int) -> dict[str, str]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "ray" / "experimental").mkdir(parents=True)
            (Path(folder) / "ray" / "__init__.py").write_text(RAY)
            (Path(folder) / "ray" / "experimental" / "__init__.py").write_text("class internal_kv: pass\n")
            triad = Path(folder) / "triad"
            triad.write_bytes(bytes(2_000_000))
            done = subprocess.run([sys.executable, "-u", str(ENGINE), "--triad", str(triad)], input="",
                                  capture_output=True, text=True, timeout=60,
                                  env=os.environ | {"PYTHONPATH": folder, "STORE": str(store)})
            return json.loads(done.stdout.splitlines()[0])

    def test_a_store_that_is_too_small(self) -> None:
        said = self.engine(1_000_000)["error"]
        self.assertIn("holds 1 MB, and the program and its files have 2 MB", said)

    def test_a_store_that_is_large_enough(self) -> None:
        self.assertEqual(self.engine(3_000_000)["error"], "")


if __name__ == "__main__":
    unittest.main()
