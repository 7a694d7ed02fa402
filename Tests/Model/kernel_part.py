"""The part that the C tests check, on the real system: mutants of what the checker does not have, such as descriptors."""

import pathlib
import subprocess

import mutants
import source

FLAGS = ["-std=c11", "-O1", "-g", "-pthread", "-w"]
TESTS = ["Tests/Standalone/main.c", "Tests/CTests/*.c", "Tests/Support/CTestSupport/*.c"]
HEADERS = ["Sources/CScheduler/include", "Sources/CScheduler/core", "Sources/CScheduler/platform/linux", "Tests/CTests/include", "Tests/CTests/include", "Tests/Support/CTestSupport/include"]


class KernelPart:
    name = "kernels"
    equivalent = {}

    def __init__(self, root, scratch):
        self.root, self.folder = root, scratch / "kernels"
        self.folder.mkdir()

    def _compile(self, path, folder, flags=()):
        name = folder / f"{path.parent.name}-{path.stem}.o"
        subprocess.run(["gcc", *FLAGS, *flags, *(f"-I{self.root / each}" for each in HEADERS), "-c", path, "-o", name], check=True)
        return name

    def _link(self, objects, folder):
        program = folder / "tests"
        subprocess.run(["gcc", "-pthread", *objects, "-o", program], check=True)
        return program

    def build(self):
        core = self.root / "Sources/CScheduler"
        paths = [path for pattern in TESTS for path in sorted(self.root.glob(pattern))]
        self.objects = [self._compile(path, self.folder) for path in [*paths, *core.glob("core/*.c"), *core.glob("platform/**/*.c")]]
        return self._link(self.objects, self.folder)

    def build_mutant(self, folder, mutant):
        _, file, text = mutant
        path = folder / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        own = self._compile(path, folder)
        return self._link([own if each.name == own.name else each for each in self.objects], folder)

    def names_of_checks(self, program):
        listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
        return [line for line in listed.split("\n") if line and not line[0].isdigit()]

    def attempts(self, matching, budget):
        """As ModelPart. What it waits for may never come, and takes no processor."""
        for check in matching:
            yield check, ("--only", check), max(20, budget), max(20, budget)

    def wanted(self, mutant):
        return mutants.KERNELS[mutant[0]]

    def mutants(self):
        for name, file, where, code, new in mutants.BY_KERNELS:
            text = (self.root / "Sources/CScheduler" / file).read_text()
            yield name, file, source.replace(text, code, new, name, file, where)
