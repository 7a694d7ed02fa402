"""Commands for gdb that show what the Scheduler library does in a live process or did in one that left a core file.

    gdb -x packaging/gdb/scheduler.py PROGRAM CORE
    (gdb) scheduler help
"""

import os
import sys

import gdb

sys.dont_write_bytecode, _before = True, sys.dont_write_bytecode
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
for _name in ("scheduler_memory", "scheduler_core", "scheduler_describe", "scheduler_record"):
    sys.modules.pop(_name, None)  # so that the script can be sourced again after a change
from scheduler_core import Core  # noqa: E402
from scheduler_describe import describe_lock, describe_locks, describe_thread, describe_waiting, limited, targets_of  # noqa: E402
from scheduler_memory import Missing  # noqa: E402
from scheduler_record import events_of, record_of  # noqa: E402

sys.path.pop(0)
sys.dont_write_bytecode = _before

HELP = """\
scheduler threads             each thread: what it runs, for which target, since when, what it waits for
scheduler loop ADDRESS|NAME   what waits on a loop: jobs, and timers with their deadlines. By the name of its thread, or that of a queue;
                              the address may be that of a queue, a limit, a pool or virtual time, too
scheduler targets [N]         loops, pools, virtual times, queues and limits, with what is pending; N lines of each kind (100)
scheduler queues [N]          the queues and the limits of these
scheduler lock ADDRESS        the owner of a lock, and the threads that sleep for it
scheduler locks               all locks that threads sleep for, and other sleepers
scheduler record [N]          what each thread has run last, the newest at the end: N lines (30)
scheduler events [N]          the last events of all threads, if they were recorded (SCHEDULER_RECORD=1): N lines (100)
An ADDRESS may be any expression: &guard, 0x7ffff7a01000. Nothing of the process runs, and nothing in it is changed."""


def number_from(text, usual):
    try:
        return max(1, int(text, 0)) if text else usual
    except ValueError:
        raise Missing(f"not a number: {text}") from None


def address_from(text):
    """Returns what the expression stands for: a pointer's value, or the address of what is no pointer."""
    if not text:
        raise Missing("which one? Say its address")
    try:
        value = gdb.parse_and_eval(text)
        kind = value.type.strip_typedefs().code
        if kind in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY):
            value = value.address
        return int(value) & 2**64 - 1
    except (gdb.error, TypeError, ValueError, OverflowError) as error:
        raise Missing(f"{text}: {error}") from None


def threads(core, _):
    yield core.clock_text()
    ours = list(core.each("thread"))
    for thread in limited(ours, 256):
        yield from describe_thread(core, thread) if not isinstance(thread, str) else [thread]
    others = set(core.system_threads) - {thread["thread"] for thread in ours}
    if others:
        names = ", ".join(core.thread_text(number) for number in sorted(others)[:16])
        yield f"{len(others)} that have run, and waited in, nothing of the library's: {names}" + (" …" if len(others) > 16 else "")


def loop(core, text):
    if not text:
        raise Missing("which one? Say its address, or the name of its thread; scheduler targets lists them")
    found = [record for kind in ("loop", "queue") for record in core.each(kind) if text.strip('"') == core.own_name(kind, record)]
    addresses = [each.address for each in found] or [address_from(text)]
    yield core.clock_text()
    for address in addresses[:16]:
        yield from describe_waiting(core, address)


def targets(core, text):
    yield core.clock_text()
    yield from targets_of(core, ("loop", "pool", "virtual time", "queue", "limit"), number_from(text, 100))


def queues(core, text):
    yield from targets_of(core, ("queue", "limit"), number_from(text, 100))


def lock(core, text):
    yield from describe_lock(core, address_from(text))


def locks(core, _):
    yield core.clock_text()
    yield from describe_locks(core)


def record(core, text):
    most = number_from(text, 30)
    yield core.clock_text()
    for thread in limited(list(core.each("thread")), 256):
        yield from record_of(core, thread, most) if not isinstance(thread, str) else [thread]


def events(core, text):
    yield core.clock_text()
    yield from events_of(core, number_from(text, 100))


COMMANDS = {"threads": threads, "loop": loop, "targets": targets, "queues": queues, "lock": lock, "locks": locks, "record": record, "events": events}


class Prefix(gdb.Command):
    """What the Scheduler library does: see scheduler help."""

    def __init__(self):
        super().__init__("scheduler", gdb.COMMAND_STATUS, prefix=True)

    def invoke(self, argument, from_tty):
        print((f"scheduler: no such command: {argument}\n" if argument else "") + HELP)


class Help(gdb.Command):
    """What the commands of scheduler are."""

    def __init__(self):
        super().__init__("scheduler help", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        print(HELP)


class Command(gdb.Command):
    """One of the commands of scheduler: see scheduler help."""

    def __init__(self, name, say):
        super().__init__(f"scheduler {name}", gdb.COMMAND_STATUS)
        self._say = say

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        try:
            core = Core()
            for line in self._say(core, argument.strip()):
                gdb.write(line + "\n")
            if core.memory.torn:
                gdb.write(f"{core.memory.torn} lists lead to memory that cannot be read, or back into themselves: what is behind is missing\n")
        except Missing as missing:
            gdb.write(f"scheduler: {missing}.\n")
        except gdb.error as error:  # of the debug information, or of a process that is gone meanwhile
            gdb.write(f"scheduler: gdb says: {error}\n")


Prefix()
Help()
for _name, _say in COMMANDS.items():
    Command(_name, _say)
