"""Machine code on disk is used again if nothing has changed, and never if any source has."""

import importlib
import json
import os
import pty
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits import knapsack
from budgetbandits.engine import compiler
from budgetbandits.engine.compiler import classes_of, compile_entry, digest_of_sources

PACKAGE = Path(bb.__file__).parent

SIMULATION = """
import json, sys
import mine
import budgetbandits as bb

by_import = "numba" in sys.modules
problem = bb.Problem([1, 2], [bb.Uniform(0, 1), bb.Uniform(0, 1)])
runs = bb.simulate(problem, mine.Cheapest(), 20, runs=2, seed=3, workers=2)

from numba.core import event

class Counter(event.Listener):
    count = 0
    def on_start(self, event):
        Counter.count += 1
    def on_end(self, event):
        pass

with event.install_listener("numba:compile", Counter()):
    # A new process of the same kind would load the same code; here it is asked for twice in one.
    bb.simulate(problem, mine.Cheapest(), 20, runs=1)
entries = [entry for entry in vars(sys.modules["budgetbandits.engine.compiler"])["_known"]]
print(json.dumps({"by_import": by_import, "by_simulate": "numba" in sys.modules, "reward": runs["reward"].tolist()}))
"""
