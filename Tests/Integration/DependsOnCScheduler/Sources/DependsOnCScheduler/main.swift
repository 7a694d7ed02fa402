import CScheduler

// The C API from Swift, as a C program would use it.
var thread: OpaquePointer?
precondition(csched_thread_start(&thread, nil) == 0)
csched_thread_stop(thread, CSCHED_STOP_RUN)
precondition(csched_thread_join(thread) == 0)
csched_thread_destroy(thread)

let lock = UnsafeMutablePointer<csched_lock>.allocate(capacity: 1)
lock.initialize(to: csched_lock())
csched_lock_lock(lock)
precondition(!csched_lock_trylock(lock))
csched_lock_unlock(lock)
lock.deallocate()
print("a dependent package used the C API: a lock is", MemoryLayout<csched_lock>.size, "bytes")
