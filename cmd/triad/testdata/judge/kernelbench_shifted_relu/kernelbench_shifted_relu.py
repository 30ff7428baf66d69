"""kernelbench_shifted_relu: an imported problem, of SHA-256
d519aa58739bcb9b54d3c5fb4adee74b136ac0f1a8f2dc8f275bdd3c0395e4f8; problem.json names its files and says how it is called.
"""

from pathlib import Path

from problem_kernelbench import Problem

PROBLEM = Problem(Path(__file__).parent)
reference = PROBLEM.reference
IMPLEMENTATIONS = PROBLEM.rows()
