"""Lines about threads, targets and locks: what a dump of the library's says (Sources/CScheduler/diagnostics/dump.c), and what waits in each."""

from scheduler_core import FOREVER, ORPHANED, PRIORITIES
from scheduler_memory import MOST, seconds
from scheduler_record import last_run

COUNTED = 1000  # jobs of one run queue
LISTED = 50
SUSPENSION = 2  # of `hold`: serial.c
STATE, QUEUED, RUNNING = 7, 1, 2  # of a job's word: job_internal.h
IDLE, THREADS, BLOCKED = 16, 32, 48  # of a pool's counts, 16 bits each: pool_idle.c


def limited(all, most):
    """Yields so many of them, and a line that says how many more there are."""
    yield from all[:most]
    if len(all) > most:
        yield f"… and {len(all) - most} more"


# MARK: threads


def describe_thread(core, thread):
    recorder, lines = last_run(core, thread), []
    for i, frame in enumerate(core.frames(thread)):
        of = core.target_text(frame["target"])
        text = core.job_text(frame["job"]) if frame["job"] else ""
        if text:
            since = f", begun at {core.when(recorder.since)} or later" if i == 0 and recorder and recorder.is_of_job(core, frame["job"]) else ""
            lines.append(f"runs {text} of {of}{since}")
        elif text is None:
            lines.append(f"runs a job at {frame['job']:#x}, which cannot be read, of {of}")
        elif i == 0 and not frame["job"] and recorder and recorder.target == frame["target"] and recorder.context == 0:
            lines.append(f"inside of {of}; began {core.memory.code(recorder.run)} last, at {core.when(recorder.since)} or later")
        else:
            lines.append(f"in a run or a sync of {of}" if frame["job"] else f"inside of {of}")
    yield core.thread_text(thread["thread"]) + ("" if lines else ": runs nothing")
    yield from ("  " + line for line in limited(lines, 16))
    yield from ("  " + line for line in waits_of(core, thread))
    for loop in core.each("loop"):
        if loop["thread_number"] == thread["thread"]:
            yield f"  has {describe(core, 'loop', loop)[0]}"


def waits_of(core, thread):
    if thread["wait.function"]:
        function = core.memory.string(thread["wait.function"])
        what = core.target_text(thread["wait.what"]) if core.target_kind(thread["wait.what"]) else f"{thread['wait.what']:#x}"
        yield f"waits in {function} for {what} since {core.when(thread['wait.since'])}"
    for each in core.sleepers():
        if each.thread == thread["thread"]:
            owner = f", which {owner_text(core, each.address)}" if each.is_lock else ""
            yield f"sleeps for {kind_of(each)} {each.address:#x}{owner}, since {core.when(each.since)}"


# MARK: locks


def kind_of(sleeper):
    return "lock" if sleeper.is_lock else "a condition, semaphore, latch, group or rwlock"


def owner_text(core, address):
    owner = core.memory.word(address, 4)
    if owner is None:
        return "cannot be read"
    number = core.thread_number(owner)
    if owner == 0:
        return "has no owner"
    return f"belongs to {core.thread_text(number)}" + ("" if number in core.system_threads else ", which is not there")


def sleeper_text(core, sleeper):
    return f"{core.thread_text(sleeper.thread)} sleeps for it since {core.when(sleeper.since)}"


def describe_lock(core, address, sleepers=None):
    found = [each for each in sleepers or core.sleepers() if each.address == address]
    if found and not found[0].is_lock:
        yield f"{address:#x} is {kind_of(found[0])}, which has no owner"
    else:
        yield f"lock {address:#x} {owner_text(core, address)}"
    lines = [sleeper_text(core, each) for each in sorted(found, key=lambda each: each.since)]
    yield from ("  " + line for line in limited(lines, LISTED))
    if not found:
        yield "  no thread sleeps for it"


def describe_locks(core):
    sleepers = list(core.sleepers())
    locks = dict.fromkeys(each.address for each in sleepers if each.is_lock)
    for address in limited(list(locks), 100):
        yield from describe_lock(core, address, sleepers) if not isinstance(address, str) else [address]
    others = [f"{kind_of(each)} {each.address:#x}: {sleeper_text(core, each)}" for each in sleepers if not each.is_lock]
    yield from limited(others, 100)
    if not sleepers:
        yield "no thread sleeps for a lock or another blocking object"


# MARK: targets


def pending(core, inbox):
    count = len(inbox.jobs)
    return f"{'' if inbox.is_whole and count < COUNTED else 'at least '}{count} pending"


def describe(core, kind, record):
    """Returns what the target is, and whether there is nothing to say of it."""
    return {"loop": loop_text, "pool": pool_text, "virtual time": virtual_text, "queue": queue_text, "limit": limit_text}[kind](core, record)


def is_orphaned(core, record):
    return core.target_kind(record.address) == ORPHANED


def delayed(core, timers, tick=None):
    count = timers["pending"] + timers["never_count"]
    if not count or timers["first"] == FOREVER:
        return f"{count} delayed"
    return f"{count} delayed, the next not before {core.when(timers['first']) if tick is None else timers['first']}"


def timers_of(core, record):
    return core.memory.record(core.layout("csched_timers", "loop_life.c"), record.at("timers"))


def loop_text(core, loop):
    inbox = core.inbox(loop, "inbox", COUNTED)
    state = "accepts no more work" if loop["closing"] else "asleep" if inbox.is_parked else "awake, or not run"
    state = "orphaned by fork" if is_orphaned(core, loop) else state
    return f"{core.target_text(loop.address, 'loop')}: {state}, {pending(core, inbox)}, {delayed(core, timers_of(core, loop))}", False


def with_workers(core, pool):
    """Yields the class and the address of each job that a worker keeps or has in its local queue: see pool_pick.c."""
    layout = core.layout("struct csched_pool_worker", "pool.c")
    for i in range(min(pool["slots_used"], 16384)):
        worker = core.memory.record(layout, pool.at("slots") + i * layout.size)
        if not worker:
            return
        if worker["kept"]:
            yield worker["kept"] & 3, worker["kept"] & ~3
        for n in range(worker["local.top"], min(worker["local.bottom"], worker["local.top"] + 64)):
            yield 1, core.memory.word(worker.at("local.slots") + n % 64 * 8)


def classes_of(core, pool, most=COUNTED):
    """Yields the name, the record and all waiting jobs of each class."""
    layout, lane = core.layout("csched_pool_class", "pool.c"), core.layout("csched_pool_lane", "pool.c")
    lanes = [core.memory.record(lane, pool["lanes"] + i * lane.size) for i in range(min(pool["lane_count"], 16))]
    others = list(with_workers(core, pool))
    for i in range(len(PRIORITIES)):
        each = core.memory.record(layout, pool.at("classes") + i * layout.size)
        if not each:
            continue
        inboxes = [core.inbox(each, "inbox", most)] + ([core.inbox(lane, "inbox", most) for lane in lanes if lane] if i == 1 else [])
        jobs = [job for number, job in others if number == i] + [job for inbox in inboxes for job in inbox.jobs]
        yield PRIORITIES[i], each, inboxes[0]._replace(jobs=jobs, is_whole=all(inbox.is_whole for inbox in inboxes))


def pool_text(core, pool):
    counts, name = pool["counts"], pool.text("name")
    threads, idle, blocked = (counts >> shift & 0xFFFF for shift in (THREADS, IDLE, BLOCKED))
    text = f"pool {pool.address:#x}" + (f' "{name}"' if name else "") + (": orphaned by fork, " if is_orphaned(core, pool) else ": stopped, " if pool["closing"] else ": ")
    text += f"{threads} threads ({idle} idle, {blocked} blocked), {pool['workers']} run at a time"
    for priority, each, inbox in classes_of(core, pool):
        if inbox.jobs or priority in PRIORITIES[:4]:
            text += f"; {priority} {each.address:#x}: {pending(core, inbox)}"
    return text, False


def virtual_text(core, virtual):
    ready, timers = virtual["ready"], timers_of(core, virtual)
    return f"virtual time {virtual.address:#x}: at tick {virtual['now']}, {ready} ready, {delayed(core, timers, tick=True)}", False


def queue_text(core, queue):
    inbox, state = core.inbox(queue, "inbox", COUNTED), queue["drain.word"] & STATE
    if is_orphaned(core, queue):
        word = "orphaned by fork"
    elif queue["hold"] >= SUSPENSION:
        word = f"suspended {queue['hold'] // SUSPENSION} times"
    elif inbox.is_closed:
        word = "accepts no more work"
    elif inbox.is_parked:
        word = "idle"
    else:
        word = "waits for its turn" if state == QUEUED else "runs" if state == RUNNING else "held by a sync"
    text = f"{core.target_text(queue.address, 'queue')} on {core.target_text(queue['base'])}: {word}, {pending(core, inbox)}"
    return text, word == "idle"


def limit_text(core, limit):
    count, out = len(core.chain(limit["first"], COUNTED)), limit["in_use"]
    alone = ", a barrier" if limit["runs_barrier"] else ""
    orphaned = "orphaned by fork, " if is_orphaned(core, limit) else ""
    return (f"limit {limit.address:#x} on {core.target_text(limit['base'])}: {orphaned}at most {limit['most']}, {out} on their way or running{alone}, "
            f"{count} pending"), not (count or out)


def is_quiet(core, kind, record):
    """Whether a queue has nothing to do: asked of each of them, and so without words."""
    if kind == "queue":
        return record["inbox.head"] == core.memory.address("mpsc.c", "parked_mark") and record["hold"] < SUSPENSION
    return kind == "limit" and not (record["first"] or record["in_use"])


def targets_of(core, kinds, most):
    """Yields the lines of each kind: those that have something to do first."""
    for kind in kinds:
        busy, quiet, more = [], [], 0
        for record in core.each(kind):
            some = quiet if is_quiet(core, kind, record) else busy
            if len(some) < most:
                some.append(record)
            else:
                more += 1
        shown = (busy + quiet)[:most]
        for record in shown:
            yield describe(core, kind, record)[0]
        more += len(busy) + len(quiet) - len(shown)
        if more:
            yield f"… and {more} more of that kind; those that have something to do come first"
    if not any(kind in kinds for kind, _ in core.entries):
        yield "there are none"


# MARK: what waits on one


def describe_waiting(core, address):
    kind = core.target_kind(address)
    if kind in ("loop", "queue", "limit", "virtual time"):
        record = core.record(kind, address)
    elif kind == "class":
        each = core.memory.record(core.layout("csched_pool_class", "pool.c"), address)
        kind, record = "pool", core.record("pool", each["pool"])
    else:
        record = None
    if record is None:
        yield f"at {address:#x} is no loop, queue, pool, limit or virtual time that can be read"
        return
    yield describe(core, kind, record)[0]
    inboxes = [(priority, inbox.jobs) for priority, _, inbox in classes_of(core, record, MOST)] if kind == "pool" else []
    if kind in ("loop", "queue"):
        inboxes = [("", core.inbox(record, "inbox").jobs)]  # all, because the oldest come last in the links
    elif kind != "pool":
        inboxes = [("", core.chain(record["first"]))]
    for name, jobs in inboxes:
        yield from (f"  {name + ': ' if name else ''}{line}" for line in jobs_text(core, jobs))
    if kind in ("loop", "virtual time"):
        yield from ("  " + line for line in timers_text(core, timers_of(core, record), record))


def jobs_text(core, jobs):
    for i, job in enumerate(limited(jobs, LISTED)):
        text = None if isinstance(job, str) else core.job_text(job)
        yield job if isinstance(job, str) else f"{i + 1}. job {job:#x}: {text if text is not None else 'it cannot be read'}"


def timers_text(core, timers, owner):
    is_virtual = core.target_kind(owner.address) == "virtual time"
    for each in limited(core.timers(timers, 100_000), LISTED):
        if isinstance(each, str):
            yield each
            continue
        due = f"tick {each.deadline}" if is_virtual and each.deadline != FOREVER else core.when(each.deadline)
        late = f", or up to {seconds(each.leeway)} later" if each.leeway and not is_virtual else ""
        text, to = core.job_text(each.address), "" if each.target == owner.address else f", for {core.target_text(each.target)}"
        yield f"timer {each.address:#x}, due {due}{late}: {text if text is not None else 'it cannot be read'}{to}"
