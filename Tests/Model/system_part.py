"""The part that the C tests check, on the real system: mutants of code that the checker does not model, such as descriptors."""

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess

from core import CCore
import mutants
import source

TIMEOUT = 60  # seconds, after which a test counts as failed


class SystemPart:
    name, sources = "system", "Sources/CScheduler"
    has_schedules = False
    equivalent = {}

    def __init__(self, root, scratch):
        self.root, self.folder = root, scratch / "system"
        self.folder.mkdir()

    def _compile(self, path, folder, flags=()):
        name = folder / f"{path.parent.name}-{path.stem}.o"
        subprocess.run(["gcc", "-O1", "-g", "-w", *flags, *CCore(self.root).tests_flags, "-c", path, "-o", name], check=True)
        return name

    def _link(self, objects, folder):
        program = folder / "tests"
        subprocess.run(["gcc", "-pthread", *objects, "-o", program], check=True)
        return program

    @functools.cached_property
    def objects(self):
        paths = [*CCore(self.root).tests, *CCore(self.root).files]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(lambda path: self._compile(path, self.folder), paths))

    def build(self):
        return self._link(self.objects, self.folder)

    def build_mutant(self, folder, mutant):
        _, file, text = mutant
        path = folder / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        own = self._compile(path, folder, [f"-I{self.root / 'Sources/CScheduler' / pathlib.Path(file).parent}"])  # includes of its neighbours
        return self._link([own if each.name == own.name else each for each in self.objects], folder)

    def names_of_checks(self, program):
        """Returns the tests that are to kill a mutant. The other tests are run elsewhere."""
        listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
        return [name for name in listed if any(re.match(pattern, name) for pattern in mutants.SYSTEM.values())]

    def arguments(self, check, schedules, exhaustive, seed):
        return "--only", check, "--jobs", 1, "--seed", seed, "--timeout", TIMEOUT

    def attempts(self, matching, effort):
        """As ModelPart's, though none of it is counted in schedules."""
        for check in matching:
            yield check, self.arguments(check, 0, 0, 1), 0

    def wanted(self, mutant):
        return mutants.SYSTEM.get(mutant[0])

    def mutants(self):
        for name, file, where, code, new in mutants.BY_SYSTEM:
            text = (self.root / "Sources/CScheduler" / file).read_text()
            yield name, file, source.replace(text, code, new, name, file, where)
