"""The part of the model that checks the Swift module: its own source, compiled with checks in Swift, on the engine and the C core."""

import json
import pathlib
import re
import shutil
import subprocess

import announce
from core_part import ModelPart
from source import replace
import swift_mutants

# The files of each group, as patterns below Sources/Scheduler and Sources/SchedulerRx: as few as possible, because each mutant compiles its group.
WALK = ["Internal/Counted.swift", "Internal/Messages.swift", *(f"Disposables/{name}.swift" for name in (
    "Disposable", "Disposables", "DisposalWalk", "ChildList", "AnonymousDisposable", "BinaryDisposable", "NaryDisposable",
    "SingleAssignmentDisposable"))]
ACTIONS = [*WALK, "Internal/*.swift", "Time/*.swift", "Synchronization/Protected*.swift",
           "Synchronization/UnfairLock.swift", "Synchronization/UnfairLock+Condition.swift", *(f"Actions/{name}.swift" for name in (
    "ClosureTask", "RepeatingTask", "ReturningAction", "DropObservers", "SchedulerError")),
    "Cores/Timeline.swift", "Concurrency/Sleepers.swift", "Concurrency/Resumption.swift",
    "Schedulers/ImmediateSchedulerType.swift", "Cores/TargetCore.swift"]
# Files that depend on the main loop, which may be the base of any target. SchedulerType.swift names the last two.
MAIN = [*ACTIONS, *(f"Schedulers/{name}.swift" for name in (
    "SchedulerType", "SchedulerTarget", "MainScheduler", "CurrentThreadScheduler", "ForwardingScheduler")),
    "Cores/MainCore.swift", "EventLoop/LoopScheduler.swift", "ReturningActions.swift"]
MEMBERS = [*(f"Actions/{name}.swift" for name in ("ActionContext", "ActionGroup*", "ActionOutcome", "GroupMembers", "RepeatedCall")),
           "Schedulers/Schedulers+OnDrop.swift"]
GROUPS = {
    "slots": [*WALK, "Internal/InlineLock.swift", "Disposables/SerialDisposable.swift", "Disposables/RefCountDisposable.swift",
              "Disposables/BooleanDisposable.swift"],
    "disposables": ["Disposables/*.swift", "Internal/InlineLock.swift", "Internal/Counted.swift", "Internal/Messages.swift"],
    "actions": MAIN,
    "virtual": [
        *MAIN, "Disposables/SerialDisposable.swift",
        *(f"Actions/{name}.swift" for name in ("PeriodicTicks", "RepeatedCall", "PeriodicAction")),
        *(f"VirtualTime/{name}.swift" for name in (
            "Virtual*", "InstantTimeline"))],
    "blocking": [
        *MAIN, "Blocking/BlockingSink.swift", "Blocking/RunLoopLock.swift"],
    "groups": [
        *MAIN, *MEMBERS, "Concurrency/*Deadline.swift", "Concurrency/AsyncUnits.swift", "Blocking/Result*.swift", "Synchronization/CountingSemaphore.swift"],
    "executors": [
        *MAIN, *MEMBERS, "Compilers/*.swift", "Concurrency/*.swift", *(f"Schedulers/{name}.swift" for name in (
            "ConcurrentScheduler", "ImmediateScheduler", "Schedulers", "Serial*", "Thread*")),
        *(f"Cores/{name}Core.swift" for name in ("Limit", "Serial", "Thread")), "EventLoop/LoopSource.swift"],
}
WITHOUT = {"Disposable+Task.swift", "Disposables+Task.swift", "SwiftClocks.swift", "VirtualTimeScheduler+Sleeping.swift"}  # Swift's own concurrency is not in the model
WRAPPED = ["swift_slowAlloc", "swift_slowDealloc", "swift_once", "swift_retain", "swift_release", "swift_retain_n", "swift_release_n",
           "swift_isUniquelyReferenced_nonNull_native", "swift_getGenericMetadata", "swift_getSingletonMetadata",
           "swift_getTypeByMangledNameInContext2", "swift_getTypeByMangledNameInContextInMetadataState2", "swift_getTupleTypeMetadata2",
           "free", "malloc_usable_size", "_swift_stdlib_reportFatalErrorInFile"]


def tool(name):
    """A tool of the Swift toolchain, whose LLVM is that of its compiler."""
    info = json.loads(subprocess.run(["swiftc", "-print-target-info"], check=True, capture_output=True, text=True).stdout)
    return pathlib.Path(info["paths"]["runtimeResourcePath"]).parent.parent / "bin" / name


class SwiftPart(ModelPart):
    sources = "Sources"
    modules = ("Scheduler", "SchedulerRx")

    def __init__(self, group, root, scratch, core):
        self.name, self.root, self.folder = group, root, scratch / group
        self.module = root / self.sources
        self.core = core
        self.clang = tool("clang")
        self.equivalent = swift_mutants.EQUIVALENT
        self._copy_headers()

    def _copy_headers(self):
        """The module's headers, with the model's atomic.h among them."""
        (self.folder / "include").mkdir(parents=True)
        shutil.copytree(self.root / "Sources/CScheduler/include", self.folder / "include", dirs_exist_ok=True)
        shutil.copytree(self.root / "Tests/Model/shadow", self.folder / "include", dirs_exist_ok=True)
        for header in re.findall(r'header "\.\./(.*?)"', (self.folder / "include/module.modulemap").read_text()):
            (self.folder / header).parent.mkdir(exist_ok=True)
            shutil.copy(self.root / "Sources/CScheduler" / header, self.folder / header)

    def _files(self):
        found = {path for module in self.modules for pattern in GROUPS[self.name] for path in (self.module / module).glob(pattern)
                 if path.name not in WITHOUT}
        checks = [*(self.root / "Tests/Model/swift").glob("*.swift"), *(self.root / "Tests/Model/swift" / self.name).glob("*.swift")]
        if MAIN[-1] in GROUPS[self.name] and self.name != "executors":
            checks += (self.root / "Tests/Model/swift/tasks").glob("*.swift")
        return sorted(found) + sorted(checks)

    def build(self):
        return self._program(self.folder, {})

    def build_mutant(self, folder, mutant):
        _, file, text = mutant
        mutated = folder / pathlib.Path(file).name
        mutated.write_text(text)
        return self._program(folder, {self.module / file: mutated})

    def _program(self, folder, replaced):
        module, instrumented, final, program = (folder / name for name in ("module.ll", "module.o", "swift.o", "model"))
        compiled = subprocess.run(
            ["swiftc", "-parse-as-library", "-wmo", "-O", "-gline-tables-only", "-enforce-exclusivity=unchecked", "-swift-version", "6",
             "-suppress-warnings", "-package-name", "scheduler", "-module-name", "Scheduler", "-module-cache-path", self.folder / "cache",
             f"-I{self.folder}/include", f"-I{self.root}/Tests/Model/swift/include",
             "-emit-ir", *[replaced.get(path, path) for path in self._files()], "-o", module], capture_output=True, text=True)
        if compiled.returncode != 0:
            raise SystemExit(f"Tools/model: {self.name}: does not compile{' as a mutant' if replaced else ''}:\n{compiled.stderr}")
        module.write_text(announce.announce(module.read_text()))
        # Optimised by Swift already. Not by fast instruction selection, which loses Swift's register for errors.
        subprocess.run([self.clang, "-c", "-O0", "-mllvm", "-fast-isel=0", "-fsanitize=thread", "-Wno-override-module", module,
                        "-o", instrumented], check=True)
        subprocess.run(["objcopy", *announce.renames(), instrumented, final], check=True)
        c_objects = [each for each in self.core.objects if not each.name.startswith("checks-")]
        wraps = [argument for name in WRAPPED for argument in ("-Xlinker", f"--wrap={name}")]
        subprocess.run(["swiftc", "-static-stdlib", "-o", program, *c_objects, final, *wraps, "-Xclang-linker", "-no-pie",
                        "-lswiftSynchronization"], check=True)
        return program

    def wanted(self, mutant):
        """Which checks, as a pattern, are to kill the mutant."""
        return swift_mutants.CHECKS.get(mutant[0]) or swift_mutants.CHECKS.get(pathlib.Path(mutant[1]).stem)

    def mutants(self):
        """Yields (name, file below Sources, mutated text) for each that this group's checks are to kill."""
        for stem in swift_mutants.GROUP_OF[self.name]:
            path = next(path for module in self.modules for path in (self.module / module).rglob(f"{stem}.swift"))
            text, file = path.read_text(), str(path.relative_to(self.module))
            for name, own, old, new in swift_mutants.MUTANTS:
                if own == stem:
                    yield name, file, replace(text, old, new, name, file)
            yield from swift_mutants.weakenings(stem, file, text)

