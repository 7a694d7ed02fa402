"""The flight recorder: what each thread has run last (Sources/CScheduler/job/recorder.c), and recorded events (diagnostics/events.c)."""

from collections import namedtuple

from scheduler_memory import Layout, bare

MOST = 1 << 20  # entries of a ring: more is none


class Run(namedtuple("Run", "run target context since")):
    """One that a thread has begun, and a reading of the clock that came before."""

    def is_of_job(self, core, address):
        job = core.memory.record(core.job, address)
        type = core.memory.record(core.job_type, job["type"]) if job else None
        return bool(type) and type["run"] == self.run


class Ring:
    """The entries of one thread, copied; what cannot be read is missing in it."""

    def __init__(self, core, thread):
        layout = core.layout("csched_recorder")
        self.core, self.recorder = core, core.memory.record(layout, thread.at("recorder"))
        self.entry = Layout(bare(layout.place("few")[1]).target())
        self.times, self.stretch, self.is_whole = [], 1, False
        if not self.recorder:
            return
        if self.recorder["recording"]:
            recording = core.layout("csched_recording")
            (at, entries), (times_at, times) = recording.place("entries"), recording.place("times")
            self.start, self.size = self.recorder["recording"] + at, entries.sizeof // self.entry.size
            count = times.sizeof // 8
            self.stretch = self.size // count
            data = core.memory.bytes(self.recorder["recording"] + times_at, times.sizeof) or bytes(times.sizeof)
            self.times = [int.from_bytes(data[8 * i : 8 * i + 8], core.memory.order) for i in range(count)]
        else:
            self.start = self.recorder.at("few")
            self.size = layout.place("few")[1].sizeof // self.entry.size
        self.last = (self.recorder["next"] - self.start) // self.entry.size - 1
        misplaced = (self.recorder["next"] - self.start) % self.entry.size
        self.is_whole = not misplaced and -1 <= self.last < self.size <= MOST

    def time_of(self, index):
        return self.times[index // self.stretch] if self.times else 0

    def run(self, index):
        entry = self.core.memory.record(self.entry, self.start + index * self.entry.size)
        return self.made(entry) if entry and entry["run"] else None

    def made(self, entry):
        return Run(entry["run"], entry["target"], entry["context"], self.recorder["begun"])

    def newest_first(self):
        """Yields the runs with the number of each, but for what is left, in the newest one's stretch, of the round before."""
        for i in range(self.size - (self.stretch if self.times else 0)):
            index = (self.last - i) % self.size
            entry = self.core.memory.record(self.entry, self.start + index * self.entry.size)
            if entry and not entry["run"]:
                return  # the ring has not come round yet
            if entry:
                yield index, self.made(entry)


def last_run(core, thread):
    ring = Ring(core, thread)
    run = ring.run(ring.last) if ring.is_whole and ring.last >= 0 else None
    return run if run and run.since else None


def record_of(core, thread, most):
    """Yields the last lines: runs that follow each other and are the same are one; readings of the clock stand before those that came after."""
    ring, lines, before, time_at = Ring(core, thread), [], None, None
    yield f"what {core.thread_text(thread['thread'])} has run last"
    if not ring.is_whole:
        yield "  cannot be read: its recorder is torn"
        return
    for index, run in ring.newest_first():
        stretch = index // ring.stretch
        if time_at is not None and stretch != time_at and ring.time_of(time_at):
            lines.append(ring.time_of(time_at))
            before = None
        time_at = stretch
        if len(lines) >= most and run != before:
            break
        if run == before:
            lines[-1][1] += 1
        else:
            lines.append([run, 1])
        before = run
    if time_at is not None and ring.time_of(time_at):
        lines.append(ring.time_of(time_at))
    if not lines:
        yield "  nothing"
    for each in reversed(lines):
        if isinstance(each, int):
            yield f"  about {core.when(each)}"
            continue
        run, times = each
        context = "" if run.context & 1 and core.codes().get(run.run, (0, 0))[1] else f", context {run.context:#x}" if run.context else ""
        yield f"  {core.code_text(run.run, run.context)} of {core.target_text(run.target)}{context}" + (f", times {times}" if times > 1 else "")


# csched_occurrence of observed.h: the text, and whether a job's number and code follow.
EVENTS = [("submit", True), ("end", True), ("cancel", True), ("drop", True), ("wake", False), ("steal", False), ("end of a wait for lock", False),
          ("wait for", False), ("start", True)]
WAITS = (6, 7)


def rings_of(core):
    """Yields the ring of events of each thread, if events were recorded."""
    memory, file = core.memory, ("events.c", "csched_events_write_")
    if not memory.is_linked_in(*file):
        return
    observer, ring = memory.layout("csched_observer", file), memory.layout("csched_events", file)
    following = observer.offset("next")
    first = memory.word(memory.address("observe.c", "observers"))
    for address in memory.walk(first, lambda at: memory.word(at + following)):
        record = memory.record(observer, address)
        events = memory.record(ring, record["events"]) if record and record["events"] else None
        if events:
            yield events


def event_text(core, event):
    what = event["what"]
    name, is_job = EVENTS[what] if what < len(EVENTS) else (f"event {what}", False)
    subject = f" {event['id']}: {core.memory.code(event['code'])}" if is_job else f" {event['id']:#x}" if what in WAITS else ""
    figures = event["figures"]
    layout = core.memory.layout("csched_figures", ("events.c", "csched_events_write_"))
    found = core.memory.record(layout, figures) if figures else None
    target = f" of {found.text('name')}" if found and found["number"] == event["number"] and is_job else ""
    return f"{core.thread_text(event['thread'])}: {name}{subject}{target}"


def events_of(core, most):
    """Yields the last events of all threads in the order of their times."""
    found = []
    for ring in rings_of(core):
        slots = list(ring.each("slots"))
        for index, slot in enumerate(slots):
            if slot["stamp"] and (slot["stamp"] - 1) % len(slots) == index:
                time = slot["event.time"] + (slot["event.span"] if slot["event.what"] == 1 else 0)
                found.append((time, slot["stamp"], slot))
    if not found:
        yield "no events were recorded: use SCHEDULER_RECORD=1, or csched_events_begin"
    for time, _, slot in sorted(found, key=lambda each: each[:2])[-most:]:
        yield f"  {core.when(time)} {event_text(core, EventRecord(slot))}"


class EventRecord:
    """The fields of a slot's event."""

    def __init__(self, slot):
        self._slot = slot

    def __getitem__(self, name):
        return self._slot[f"event.{name}"]
