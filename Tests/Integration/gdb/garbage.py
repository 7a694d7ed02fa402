"""Inside of gdb, at the stop of situation.c: overwrites words of what the commands read, runs each command, and puts the words back.

No command may raise an exception, or take long. The seed is printed; SEED=… repeats it, ROUNDS=… says how many.
"""

import os
import random
import time

import gdb

import scheduler_core  # which scheduler.py has loaded
from scheduler_record import rings_of

ROUNDS, MOST_SECONDS = int(os.environ.get("ROUNDS") or 150), 60
COMMANDS = ("threads", "loop busy", "loop quick", "loop limit", "loop timeline", "loop pool->classes[2]", "targets", "queues", "lock &guard", "locks", "record",
            "events")


def words_of(core):
    """Returns the addresses of the words that lead the commands from one thing to the next."""
    places, memory = [], core.memory
    word = memory.pointer

    def add(address, size):
        places.extend(range(address & ~(word - 1), address + size, word))

    for kind, address in core.entries:
        record = core.record(kind, address)
        add(address, min(record.layout.size, 4096))
        if kind == "thread":
            add(record.at("recorder"), core.layout("csched_recorder").size)
            for frame in core.frames(record):
                add(frame.address, frame.layout.size)
                add(frame["job"], core.job.size) if frame["job"] else None
        if kind in ("loop", "queue"):
            for job in core.inbox(record, "inbox").jobs:
                add(job, core.job.size)
        if kind == "pool":
            for worker in core.workers(record):
                add(worker.address, 64)
    add(memory.address("posix.c", "all"), word)
    add(memory.address("observe.c", "codes"), 64)
    add(memory.address("observe.c", "observers"), word)
    for ring in rings_of(core):
        add(ring.address, 512)
    for bucket in memory.array("parking.c", "buckets"):
        if bucket["sleepers.tqh_first"]:
            add(bucket.address, bucket.layout.size)
            add(bucket["sleepers.tqh_first"], core.layout("csched_sleeper").size)
    return places


class Overwritten:
    """Words that have other values for a while."""

    def __init__(self, memory, values):
        self.memory, self.values = memory, values
        self.before = {place: memory.bytes(place, memory.pointer) for place in values}

    def __enter__(self):
        for place, value in self.values.items():
            self.memory.inferior.write_memory(place, value.to_bytes(self.memory.pointer, self.memory.order))

    def __exit__(self, *_):
        for place, data in self.before.items():
            self.memory.inferior.write_memory(place, data)


def say_what_is_torn(core):
    """A list with a cycle, a list with a wild pointer, and a recorder outside of its ring: each is reported."""
    memory, thread = core.memory, next(core.each("thread"))
    behind = thread["recorder.next"] + core.layout("csched_recorded").size * core.layout("csched_recording").size
    jobs = core.inbox(next(each for each in core.each("loop") if core.own_name("loop", each) == "busy"), "inbox").jobs
    for values, command, text in (
        ({jobs[0]: jobs[0]}, "loop busy", "back into themselves"),
        ({memory.address("posix.c", "all"): 0x4141414141414141}, "targets", "memory that cannot be read"),
        ({thread.at("recorder.next"): behind}, "record", "its recorder is torn"),
    ):
        with Overwritten(memory, values):
            said = gdb.execute(f"scheduler {command}", to_string=True)
        if text not in said:
            raise gdb.GdbError(f"garbage: scheduler {command} does not say: {text}")


def main():
    seed = int(os.environ.get("SEED") or random.randrange(2**32))
    chance, core = random.Random(seed), scheduler_core.Core()
    places, memory, slowest, wrong = words_of(core), core.memory, 0, 0
    size, heads = memory.pointer, [memory.address("posix.c", "all")]
    say_what_is_torn(core)
    for round in range(ROUNDS):
        values = [chance.randrange(2**64), 2**64 - 1, 0x4141414141414141, 1, 0, chance.choice(places), chance.choice(places) + 1]
        values += [memory.word(chance.choice(places), size) or 0 for _ in range(3)]  # so that lists lead into others, or back
        chosen = [chance.choice(places) for _ in range(chance.choice((1, 3, 30)))] + (heads if round % 10 == 9 else [])
        with Overwritten(memory, {place: chance.choice(values) for place in chosen}):
            for command in COMMANDS:
                start = time.monotonic()
                try:
                    said = gdb.execute(f"scheduler {command}", to_string=True)
                    if "gdb says" in said:
                        raise gdb.error(said.strip())
                except gdb.error as error:
                    wrong += 1
                    print(f"garbage: round {round} of seed {seed}: scheduler {command}: {error}")
                slowest = max(slowest, time.monotonic() - start)
    if slowest > MOST_SECONDS:
        print(f"garbage: seed {seed}: a command took {slowest:.0f} s")
    elif not wrong:
        print(f"garbage: {ROUNDS} rounds over {len(places)} words, seed {seed}: no exception, {slowest * 1000:.0f} ms at most")


main()
