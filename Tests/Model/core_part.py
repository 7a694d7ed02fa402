"""The part of the model that checks the C core."""

import concurrent.futures
import functools
import os
import pathlib
import shutil
import subprocess

from core import CCore
import mutants
import orders
import source

FLAGS = ["-std=gnu11", "-O1", "-g", "-w", "-DCSCHED_TASK_UNIT=256", "-DCSCHED_TRACE_EVENTS=4", "-DCSCHED_DUMP_ROOM=4", "-DCSCHED_OBSERVED_ROOM=2"]
MEMORY = [f"-D{name}=model_{name}" for name in ("malloc", "calloc", "aligned_alloc", "free")]


class Build:
    """Objects of the engine, the checks and the core; a mutant compiles its own file only."""

    def __init__(self, root, folder, tree):
        self.root, self.folder, self.tree = root, folder, tree
        self.folder.mkdir()

    def compile(self, source):
        # The shadow goes first on the include path, so that the core's atomic operations are the model's; the core's
        # plain accesses are announced as for ThreadSanitizer, to the engine in place of the sanitizer's library.
        is_core = source.parent.parent.name == "CScheduler"
        is_watched = is_core or source.parent.name == "checks"
        name = self.folder / f"{source.parent.name}-{source.stem}.o"
        subprocess.run(["gcc", f"-I{self.root}/Tests/Model/shadow", *CCore(self.tree).flags, *FLAGS,
                        *(["-fsanitize=thread", "-U__SANITIZE_THREAD__"] if is_core else []), *(MEMORY if is_watched else []), "-c", source, "-o", name], check=True)
        return name

    def sources(self):
        model = self.root / "Tests/Model"
        return [*sorted((model / "engine").glob("*.c")), *sorted((self.tree / "Tests/Model/checks").glob("*.c")), model / "swift/seam.c",
                *CCore(self.tree).portable]

    def all(self):
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(self.compile, self.sources()))

    def link(self, objects):
        program = self.folder / "model"
        objects = [each for each in objects if not each.name.startswith("swift-")]
        subprocess.run(["gcc", "-pthread", *objects, "-o", program], check=True)
        return program


# How many schedules of a check a mutant gets, by lot and exhaustively: first FEW, which kill most mutants; then MANY, or its share of SHARED
# if few checks are to kill it.
FEW = (200, 500)
MANY, SHARED = 20_000, 100_000


class ModelPart:
    """A part whose checks the model checker runs."""

    has_schedules = True

    def names_of_checks(self, program):
        return subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()

    def arguments(self, check, schedules, exhaustive, seed):
        return "--check", check, "--schedules", schedules, "--exhaustive", exhaustive, "--first", seed

    def attempts(self, matching, effort):
        """Yields (check, arguments, how many schedules these are) to kill a mutant; without an effort, the first few alone."""
        many = effort * max(MANY, SHARED // len(matching))
        rounds = [("--schedules", FEW[0], 1), ("--exhaustive", FEW[1], 1), ("--schedules", many, 1 + FEW[0]), ("--exhaustive", many, 1)]
        for how, count, first in rounds if effort else rounds[:2]:
            for check in matching:
                yield check, ("--check", check, how, count, "--first", first), count


class CorePart(ModelPart):
    name, sources = "core", "Sources/CScheduler"

    def __init__(self, root, scratch):
        self.root = root
        self.own = Build(root, scratch / "objects", root)
        self.equivalent = mutants.EQUIVALENT

    @functools.cached_property
    def objects(self):
        return self.own.all()

    def build(self):
        return self.own.link(self.objects)

    def build_mutant(self, folder, mutant):
        _, file, text = mutant
        tree = folder / "tree"
        shutil.copytree(self.root / "Sources", tree / "Sources")
        for part in ("checks", "engine"):  # which include the core's headers by their path
            shutil.copytree(self.root / "Tests/Model" / part, tree / "Tests/Model" / part)
        (tree / "Sources/CScheduler" / file).write_text(text)
        build = Build(self.root, folder / "objects", tree)
        if file.endswith(".h"):
            return build.link(build.all())
        own = build.compile(tree / "Sources/CScheduler" / file)
        return build.link([own if each.name == own.name else each for each in self.objects])

    def wanted(self, mutant):
        """Which checks, as a pattern, are to kill the mutant. None: the table has none."""
        return mutants.CHECKS.get(mutant[0]) or mutants.CHECKS.get(pathlib.Path(mutant[1]).stem)

    def mutants(self):
        """Yields (name, file below Sources/CScheduler, mutated text) for each."""
        for name, file, where, code, new in mutants.MUTANTS:
            yield name, file, source.replace(self._text(file), code, new, name, file, where)
        yield from orders.weakenings(self.root)

    def untouched(self):
        """Yields (file, line number, line) for each line with an atomic operation that no mutant changes."""
        changed = {}
        for _, file, mutated in self.mutants():
            changed.setdefault(file, set()).update(source.changed_lines(self._text(file), mutated))
        folder = self.root / "Sources/CScheduler"
        for path in source.core_files(folder):
            file = str(path.relative_to(folder))
            lines = path.read_text().split("\n")
            for number in source.atomic_lines(path.read_text()) if path.name != "atomic.h" else []:
                if number not in changed.get(file, ()):
                    yield file, number, lines[number - 1].strip()

    def _text(self, file):
        return (self.root / "Sources/CScheduler" / file).read_text()
