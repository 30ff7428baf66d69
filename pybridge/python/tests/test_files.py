"""The operator files and specs that the package carries."""

import subprocess
import sys
import unittest

import triad


class Files(unittest.TestCase):
    def test_every_operators_file_loads(self):
        """Where nothing but the package is on the path. Modules of the same names that are somebody else's
        stay as they are, and a function's module is found by its name, as compilers look for it."""
        code = ("import sys, types\nsys.modules['elementwise'] = theirs = types.ModuleType('elementwise')\n"
                "path = list(sys.path)\nfrom triad.torch import files\n"
                "loaded = [files.module(o['name']) for o in files.catalogue()]\n"
                "found = [vars(sys.modules[f.__module__]) is f.__globals__ for m in loaded\n"
                "         for f in vars(m).values() if isinstance(f, types.FunctionType)]\n"
                "print(sys.path == path, sys.modules['elementwise'] is theirs, "
                "'expert_parallel' in sys.modules, len(found) > 100 and all(found))")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout.split(), ["True", "True", "False", "True"], done.stderr)

    def test_the_specs_are_the_catalogues(self):
        from triad.torch import files
        self.assertEqual(files.catalogue(), [dict(o.spec) for o in triad.ops()])

    def test_rows_on_two_gpus_are_left_out(self):
        from triad.torch import files
        left_out = 0
        for spec in files.catalogue():
            spread = {i.name for i in files.module(spec["name"]).IMPLEMENTATIONS if i.devices > 1}
            left_out += len(spread)
            for device in ("cpu", "cuda"):
                found = files.rows(spec["name"], device)
                self.assertTrue(found)
                self.assertEqual(spread & set(found), set())
        self.assertGreater(left_out, 0)


if __name__ == "__main__":
    unittest.main()
