// All the checks.

#include "../engine/model.h"

extern const model_check litmus_checks[], lock_checks[], mpsc_checks[], job_checks[], trampoline_checks[],
    loop_checks[], loop_fd_checks[], thread_checks[], timer_checks[], serial_checks[], clock_checks[];
extern const model_check pool_idle_checks[], pool_monitor_checks[], pool_end_checks[], pool_pick_checks[],
    pool_local_checks[], fork_join_checks[];
extern const model_check frames_checks[], waits_checks[], mixed_checks[], virtual_checks[], task_checks[],
    deque_checks[], waiting_checks[], limit_checks[], apply_checks[], group_checks[], event_checks[], rwlock_checks[],
    dump_checks[], cancellation_checks[], observe_checks[];
const model_check *const model_suites[] = {
    litmus_checks,       lock_checks,       mpsc_checks,
    job_checks,          trampoline_checks, loop_checks,
    loop_fd_checks,      thread_checks,     timer_checks,
    serial_checks,       pool_idle_checks,  pool_monitor_checks,
    pool_end_checks,     pool_pick_checks,  pool_local_checks,
    fork_join_checks,    clock_checks,      frames_checks,
    waits_checks,        mixed_checks,      virtual_checks,
    task_checks,         deque_checks,      waiting_checks,
    limit_checks,        apply_checks,      group_checks,
    event_checks,        rwlock_checks,     dump_checks,
    cancellation_checks, observe_checks,    NULL,
};
