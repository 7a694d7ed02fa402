"""What the C core has: threads, targets, their jobs and timers, and who sleeps. scheduler_memory.py reads it; scheduler.py says it."""

from collections import namedtuple

import gdb

from scheduler_memory import MOST, Layout, Memory, Missing, bare, seconds

FOREVER = 2**64 - 1
# The fork list (platform.h) has all objects. The fork handler's file says which kind an object is.
KINDS = {
    "thread": ("frames.c", "thread_frames"),
    "loop": ("loop_life.c", "struct csched_loop"),
    "pool": ("pool.c", "struct csched_pool"),
    "virtual time": ("virtual.c", "struct csched_virtual"),
    "queue": ("serial.c", "struct csched_serial"),
    "limit": ("limit.c", "struct csched_limit"),
}
ORPHANED = "orphaned target"  # of a child of fork
# The tables of their functions tell targets apart.
TYPES = {
    "loop": [("loop.c", "csched_loop_type_")],
    "class": [("pool.c", "pool_type")],
    "virtual time": [("virtual.c", "virtual_type")],
    "queue": [("serial.c", "serial_type")],
    "limit": [("limit.c", "exclusive_type"), ("limit.c", "concurrent_type")],
    "barriers": [("limit.c", "barrier_type")],
    ORPHANED: [("target.c", "csched_target_orphaned_")],
}
PRIORITIES = ("high", "default", "low", "background", "its timers", "its drops")  # the last two are the monitor's: pool_internal.h
BEGINNINGS = ("start_thread", "clone", "__clone", "_start", "__libc_start")  # below the function that a thread begins with
NODE = 1  # of node.h: in the place of `release`

Inbox = namedtuple("Inbox", "is_parked is_closed jobs is_whole")
Timer = namedtuple("Timer", "deadline order leeway address target")
Sleeper = namedtuple("Sleeper", "is_lock address since thread")


def at_fork(file):
    """The name of a file's fork handler."""
    return file.removesuffix(".c") + "_at_fork"


def untagged(link):
    return None if link is None else link & ~1


class Core:
    def __init__(self):
        self.memory = memory = Memory()
        self.kinds_by_handler = {}
        for kind, (file, _) in KINDS.items():
            if kind in ("thread", "loop") or memory.is_linked_in(file, at_fork(file)):
                self.kinds_by_handler[memory.address(file, at_fork(file))] = kind
        self.types = {memory.address(*each): kind for kind, tables in TYPES.items() for each in tables if memory.is_linked_in(*each)}
        self.job, self.job_type = self.layout("csched_job"), self.layout("csched_job_type")
        self.now, self._newest, self._codes = memory.clock(), None, None
        self.entries = list(self._entries())
        self.system_threads = {each.ptid[1] or each.ptid[2]: each for each in memory.inferior.threads()}
        self.bodies = {}
        self.names = self._thread_names()

    def layout(self, name, file="frames.c"):
        return self.memory.layout(name, (file, at_fork(file)))

    # MARK: all there is

    def _entries(self):
        """Yields the kind and the address of each, the oldest last."""
        layout, head = self.layout("struct csched_atfork"), self.memory.address("posix.c", "all")
        following, handler, place = layout.offset("next"), layout.offset("handler"), {}
        for kind in self.kinds_by_handler.values():
            place[kind] = self.layout(KINDS[kind][1], KINDS[kind][0]).offset("atfork")
        word = self.memory.word
        for each in self.memory.walk(word(head), lambda at: word(at + following)):
            kind = self.kinds_by_handler.get(word(each + handler))
            if kind:
                yield kind, each - place[kind]

    def record(self, kind, address):
        return self.memory.record(self.layout(KINDS[kind][1], KINDS[kind][0]), address)

    def each(self, kind):
        records = (self.record(kind, address) for each, address in self.entries if each == kind)
        return (each for each in records if each and (kind != "thread" or each["top"]))  # else it is in the parent of a fork

    # MARK: threads

    def _thread_names(self):
        """The system keeps them; a core file has none, but the library knows those that it gave."""
        names = {number: each.name or "" for number, each in self.system_threads.items()}
        if self.memory.is_live:
            return names
        for pool in self.each("pool"):
            name = pool.text("name")
            for worker in self.workers(pool) if name else ():
                suffix = f"-{worker['number']}"
                names[worker["id"]] = name.encode()[: 15 - len(suffix)].decode("utf-8", "ignore") + suffix
        for number, each in self.system_threads.items():
            names[number] = names.get(number) or self._name_given(number, each)
        return names

    def _name_given(self, number, thread):
        """Looks for the thread's own structure in its frames, and for the function that it began with."""
        before, function, frame = gdb.selected_thread(), None, None
        try:
            thread.switch()
            frame = gdb.newest_frame()
            for _ in range(100):
                function = frame.function()
                if function and function.symtab.filename.endswith("loop/thread.c") and function.name == "run_thread":
                    return self.memory.record(self.layout("struct csched_thread", "loop_life.c"), int(frame.read_var("thread"))).text("name")
                if function or frame.name():
                    self.bodies[number] = self.bodies.get(number, "") if (frame.name() or "").startswith(BEGINNINGS) else frame.name()
                frame = frame.older()
                if frame is None:
                    break
        except (gdb.error, RuntimeError, AttributeError, Missing):
            pass
        finally:
            if before and before.is_valid():
                before.switch()
        return ""

    def workers(self, pool):
        layout = Layout(bare(pool.layout.place("slots")[1]).target())
        for i in range(min(pool["slots_used"], pool["most_threads"], 65536)):
            worker = self.memory.record(layout, pool.at("slots") + i * layout.size)
            if worker and worker["pool"] == pool.address:
                yield worker

    def thread_text(self, number):
        name, known = self.names.get(number, ""), self.system_threads.get(number)
        body = f", {self.bodies[number]}" if not name and self.bodies.get(number) else ""
        return f"thread {number}" + (f' "{name}"' if name else "") + (f" (gdb's {known.num}{body})" if known else "")

    def frames(self, thread):
        """Yields what a thread is in the middle of, the innermost first."""
        layout, top = self.layout("csched_frame"), self.memory.word(thread["top"])
        for each in self.memory.walk(top, lambda at: self.memory.word(at + layout.offset("outer")), most=1000):
            frame = self.memory.record(layout, each)
            if frame and frame["outer"]:  # else a placeholder
                yield frame

    def thread_number(self, owner):
        """Of the owner of a lock: see lock_owner.c."""
        forked = self.memory.static("lock_owner.c", "forked")
        return forked["id"] if forked and owner == forked["number"] else owner & ~(1 << 30)

    def sleepers(self):
        """Yields who sleeps in the buckets of parking.h; the first half of them are those of locks."""
        layout = self.layout("csched_sleeper", "frames.c")
        buckets = list(self.memory.array("parking.c", "buckets"))
        for index, bucket in enumerate(buckets):
            link = layout.offset("link.tqe_next")
            for each in self.memory.walk(bucket["sleepers.tqh_first"], lambda at: self.memory.word(at + link), most=10_000):
                sleeper = self.memory.record(layout, each)
                if sleeper and sleeper["address"]:
                    yield Sleeper(index < len(buckets) // 2, sleeper["address"], sleeper["since"], self.thread_number(sleeper["thread"]))

    # MARK: jobs

    def codes(self):
        """The types of jobs that are distinguished by a word of theirs: their address, or that of their `run`, leads to its offset (observe.c)."""
        if self._codes is None:
            self._codes = {}
            for each in self.memory.array("observe.c", "codes") if self.memory.is_linked_in("observe.c", "codes") else ():
                type = self.memory.record(self.job_type, each["type"])
                if type:
                    self._codes[each["type"]] = self._codes[type["run"]] = (each["offset"], each["is_in_context"])
        return self._codes

    def code_text(self, run, context, word=None):
        """Returns the name of what runs: the function, and what that calls for the user. `word(offset)` reads in the job."""
        offset, is_in_context = self.codes().get(run, (None, False))
        text = self.memory.code(run)
        if is_in_context and context & 1:
            closure = self.memory.code(context - 1)
            return closure if closure.startswith("closure") else f"closure {closure}"
        called = word(offset) if word and offset and not is_in_context else None
        return f"{self.memory.code(called)} by {text}" if called else text

    def job_text(self, address):
        """Returns what a job is, and the run that it has; "" for one that only stands for something, and None for one that is gone."""
        type = self.memory.record(self.job_type, self.memory.word(address + self.job.offset("type")))
        if not type or not (type["run"] or type["release"]):
            return None
        if not type["run"]:
            return ""
        if type["release"] == NODE:  # which has no more than its two words
            return f"{self.memory.code(type['run'])} (a node)"
        job = self.memory.record(self.job, address)
        if not job:
            return None
        inside, of = (self.memory.file_of(type["run"]), self.target_kind(job["context"])), job["context"]
        if inside == ("serial.c", "queue") and address == of + self.layout("struct csched_serial", "serial.c").offset("drain"):
            return f"jobs of {self.target_text(of)}"
        if inside == ("limit.c", "limit"):
            return f"one job of {self.target_text(of)}"
        return self.code_text(type["run"], job["context"], lambda offset: self.memory.word(address + offset))

    def chain(self, first, most=MOST):
        """Returns the jobs of a list; the lowest bit of a link may say something else (limit.c, virtual.c)."""
        return list(self.memory.walk(first & ~1, lambda at: untagged(self.memory.word(at + self.job.offset("next"))), most))

    def inbox(self, record, path, most=MOST):
        """Returns what is in a run queue: see mpsc.c."""
        head, parked = record[f"{path}.head"], self.memory.address("mpsc.c", "parked_mark")
        if head == parked:
            return Inbox(True, False, [], True)
        older, newer = self.chain(record[f"{path}.first"], most), self.chain(head, most)
        return Inbox(False, bool(head & 1), older + newer[::-1], len(older) < most and len(newer) < most)

    def timers(self, timers, most=MOST):
        """Returns the timers of a csched_timers, those that come first at the beginning."""
        layout, word, found = self.layout("csched_timer"), self.memory.word, []
        left, right, link = (layout.offset(f"node.{name}") for name in ("rbe_left", "rbe_right", "le_next"))
        waiting, lists = [timers["near.rbh_root"]], [timers["never.tqh_first"]]
        lists += [slot["timers.lh_first"] for slot in timers.each("slots")]
        seen = set()
        while waiting and len(seen) < most:
            each = waiting.pop()
            if each and each not in seen:
                seen.add(each)
                waiting += [word(each + left) or 0, word(each + right) or 0]
        for first in lists:
            seen.update(self.memory.walk(first, lambda at: word(at + link), most))
        for each in seen:
            timer = self.memory.record(layout, each)
            if timer and timer["owner"] == timers.address and timer["node.place"]:
                found.append(Timer(timer["deadline"], timer["order"], timer["leeway"], each, timer["target"]))
        return sorted(found)

    # MARK: targets

    def target_kind(self, address):
        return self.types.get(self.memory.word(address)) if address else None

    def own_name(self, kind, record):
        """Returns the name that a queue has, or that of a loop's thread."""
        return record.text("name") if kind == "queue" else self.names.get(record["thread_number"], "")

    def target_text(self, address, kind=None):
        kind = kind or self.target_kind(address)
        if kind in ("queue", "loop"):
            record = self.record(kind, address)
            name = self.own_name(kind, record) if record and kind == "queue" else ""
            of = f" of {self.thread_text(record['thread_number'])}" if record and kind == "loop" and record["thread_number"] else ""
            return f"{kind} {address:#x}" + (f' "{name}"' if name else "") + of
        if kind == "class":
            layout = self.layout("csched_pool_class", "pool.c")
            each = self.memory.record(layout, address)
            pool = self.record("pool", each["pool"]) if each else None
            if pool:
                index = (address - pool.at("classes")) // layout.size
                name = pool.text("name")
                return f"pool {pool.address:#x}" + (f' "{name}"' if name else "") + f", {PRIORITIES[index] if 0 <= index < len(PRIORITIES) else '?'}"
        return f"{kind or 'target'} {address:#x}" if address else "no target"

    # MARK: the clock

    @property
    def newest(self):
        """The newest reading of the clock that is in memory."""
        if self._newest is None:
            seen = [each.since for each in self.sleepers()]
            for thread in self.each("thread"):
                seen += [thread["recorder.begun"], thread["wait.since"]]
            self._newest = max((each for each in seen if each < 1 << 62), default=0)
        return self._newest

    def clock_text(self):
        if self.now is not None:
            return f"the clock reads {seconds(self.now)}"
        return f"the clock is not known; its newest reading that was written down is {seconds(self.newest)}"

    def when(self, instant):
        """Returns the clock's reading, and how far that is from now, or from the newest reading that is known."""
        if instant == FOREVER:
            return "never"
        base = self.now if self.now is not None else self.newest
        span = f"{seconds(abs(instant - base))}"
        if self.now is not None:
            return f"{seconds(instant)} (" + (f"{span} ago)" if instant <= base else f"in {span})")
        return f"{seconds(instant)} ({span} {'before' if instant <= base else 'after'} the newest reading)"
