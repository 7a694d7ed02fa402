"""Mutants of Sources/CScheduler/include: see __init__.py."""

MUTANTS = [
    # lock.c and lock.h
    ("an inline unlock ignores the flag of a starved sleeper", "include/CScheduler/lock.h", "LK7", "self == 0 || csched_load_relaxed(flag) != 0", "self == 0"),
    ("the lock is taken inline without acquire", "include/CScheduler/lock.h", "LK1",
     "self != 0 && csched_cas_acquire(",
     "self != 0 && csched_cas_relaxed("),
    ("unlock without release", "include/CScheduler/lock.h", "LK1", "csched_store_release(&lock->owner, 0u)", "csched_store_relaxed(&lock->owner, 0u)"),
    ("unlock does not check the waiter flag", "include/CScheduler/lock.h", "",
     "csched_load_relaxed(flag) != 0)", "csched_load_relaxed(flag) > 9e30)"),
    ("the waiter flag is checked before the owner is cleared", "include/CScheduler/lock.h", "LK1",
     "csched_store_release(&lock->owner, 0u);",
     "bool waits = csched_load_relaxed(&csched_lock_waiter_flags_[csched_lock_hash_(lock)].word) != 0;\n  csched_store_release(&lock->owner, 0u); if (!waits) return;"),
]
