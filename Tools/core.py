#!/usr/bin/env python3
"""The files of the C core and of its tests, and the flags that all of them need; a script adds its own. As a program it
prints arrays of bash, core_files and so on: source <(Tools/core.py [ROOT]). Tools/layers compares the builds for users."""

import pathlib
import shlex
import sys


class CCore:
    def __init__(self, root):
        self.files = sorted((root / "Sources/CScheduler").rglob("*.c"))
        self.portable = [path for path in self.files if "platform" not in path.relative_to(root).parts]  # all but the calls of the system
        self.flags = ["-std=c11", "-pthread", f"-I{root / 'Sources/CScheduler/include'}"]
        self.tests = [path for folder in ("CTests", "Support") for path in sorted((root / "Tests" / folder).rglob("*.c"))]
        self.tests_flags = [*self.flags, *(f"-I{root / 'Tests/Support' / name / 'include'}" for name in ("CTestSupport", "CTestAllocations"))]


if __name__ == "__main__":
    for name, each in vars(CCore(pathlib.Path(*sys.argv[1:]))).items():
        print(f"core_{name}=({shlex.join(map(str, each))})")
