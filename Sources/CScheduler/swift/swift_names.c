// What a user of Swift calls when the core reports a misuse of one of its functions. Contract: panic.h.
#include "../base/panic.h"
#include "../platform/platform.h"
#include <string.h>

static const struct {
  const char *function, *swift;
} NAMES[] = {
    {"csched_cond_destroy", "deinit of UnfairLock.Condition"},
    {"csched_cond_wait", "UnfairLock.Condition.wait"},
    {"csched_group_destroy", "deinit of ActionGroup"},
    {"csched_group_enter", "ActionGroup.enter"},
    {"csched_group_leave", "ActionGroup.leave"},
    {"csched_job_cancel_and_wait", "Disposable.disposeAndWait"},
    {"csched_lock_assert_not_owner", "UnfairLock.preconditionNotOwner"},
    {"csched_lock_assert_owner", "UnfairLock.preconditionOwner"},
    {"csched_lock_lock", "UnfairLock or Protected"},
    {"csched_lock_lock_until", "UnfairLock or Protected"},
    {"csched_lock_unlock", "UnfairLock.unlock"},
    {"csched_loop_run", "MainScheduler.run"},
    {"csched_loop_run_once", "MainScheduler.run"},
    {"csched_pool_destroy", "deinit of WorkerPool"},
    {"csched_pool_join", "WorkerPool.join"},
    {"csched_pool_stop", "WorkerPool.stop"},
    {"csched_rlock_assert_not_owner", "RecursiveLock.preconditionNotOwner"},
    {"csched_rlock_assert_owner", "RecursiveLock.preconditionOwner"},
    {"csched_rlock_lock", "RecursiveLock.lock"},
    {"csched_rlock_lock_until", "RecursiveLock.lock"},
    {"csched_rlock_trylock", "RecursiveLock.tryLock"},
    {"csched_rlock_unlock", "RecursiveLock.unlock"},
    {"csched_rwlock_assert_writer", "ReadWriteLock.preconditionWriter"},
    {"csched_rwlock_destroy", "deinit of ReadWriteLock"},
    {"csched_rwlock_lock_read", "ReadWriteLock, for reading"},
    {"csched_rwlock_lock_read_until", "ReadWriteLock, for reading"},
    {"csched_rwlock_lock_write", "ReadWriteLock, for writing"},
    {"csched_rwlock_lock_write_until", "ReadWriteLock, for writing"},
    {"csched_rwlock_unlock_read", "ReadWriteLock, after reading"},
    {"csched_rwlock_unlock_write", "ReadWriteLock, after writing"},
    {"csched_semaphore_destroy", "deinit of CountingSemaphore"},
    {"csched_semaphore_init", "CountingSemaphore.init"},
    {"csched_semaphore_signal", "CountingSemaphore.signal"},
    {"csched_serial_resume", "SerialScheduler.resume"},
    {"csched_serial_sync", "SerialScheduler.sync"},
    {"csched_shutdown", "Schedulers.shutdown"},
    {"csched_target_submit", "schedule"},
    {"csched_target_submit_at", "schedule, with a delay"},
    {"csched_target_submit_at_clock", "schedule, with a time"},
    {"csched_task_cancel_and_wait", "Disposable.disposeAndWait"},
    {"csched_thread_join", "ThreadScheduler.join"},
    {"csched_thread_stop", "ThreadScheduler.stop"},
    {"csched_timer_cancel_and_wait", "Disposable.disposeAndWait"},
    {"csched_virtual_advance", "VirtualTimeScheduler.advance"},
    {"csched_virtual_advance_to", "VirtualTimeScheduler.advance"},
    {"csched_virtual_destroy", "deinit of VirtualTimeScheduler"},
    {"csched_virtual_run", "VirtualTimeScheduler.run"},
    {"csched_virtual_run_all", "VirtualTimeScheduler.run"},
    {"csched_virtual_step", "VirtualTimeScheduler.step"},
};

static const char *swift_name(const char *function) {
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
    if (strcmp(NAMES[i].function, function) == 0) return NAMES[i].swift;
  return NULL;
}

__attribute__((constructor)) static void name_in_swift(void) {
  if (csched_os_has_swift_()) csched_panic_swift_name_ = swift_name;
}
