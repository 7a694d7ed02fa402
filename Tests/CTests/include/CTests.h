// The tests of the C core, each a function here: a kernel, which CSchedulerTests and Standalone/main.c call.
// Depends on: CTestSupport.
// (300 lines and more: it is one list.)
//
// A kernel returns NULL when all that it checked held, else what did not: the file and line, the function, and the text, which lives until
// the next kernel. Kernels run one at a time: their failures are collected in one place. A kernel that hangs is ended by a watchdog, with its
// name.
#ifndef CTESTS_H
#define CTESTS_H

#include <CTestSupport.h>

CSCHED_BEGIN_DECLS

/// Whether a kernel has a watchdog. Valgrind's DRD keeps the history since the oldest thread last synchronized: a watchdog
/// sleeps all the time, and would make it slow. Change it between kernels only.
extern bool ctest_has_watchdog;

/// Fails, and writes the line that it names: for a test of what a failure says.
ctest_failure ctest_fails(int *line);

// MARK: lock

ctest_failure ctest_lock_excludes(int threads, int rounds, int outside);
ctest_failure ctest_lock_excludes_on_one_processor(int threads, int rounds);
ctest_failure ctest_lock_trylock(int threads, int rounds);
ctest_failure ctest_lock_loses_no_wake(int waiters, int rounds, bool timed, bool shared_bucket, uint64_t seed);
ctest_failure ctest_lock_relay(int threads, int turns);
ctest_failure ctest_lock_shared_buckets(int threads, int locks, int rounds, uint64_t seed);
ctest_failure ctest_lock_freed_after_unlock(int threads, int rounds, bool slow);
ctest_failure ctest_lock_handed_over(int bargers, int hold_us, int outside_us, int turns, int limit_ms);
ctest_failure ctest_lock_handed_over_on_one_processor(int bargers, int hold_us, int turns, int limit_ms);
/// How often the caller passes one that has slept for 2 ms: `limit` times at the most.
ctest_failure ctest_lock_passed(int rounds, int limit);
ctest_failure ctest_lock_timed(void);
ctest_failure ctest_lock_timed_storm(int threads, int rounds, uint64_t seed);
ctest_failure ctest_lock_zero_is_unlocked(void);
ctest_failure ctest_lock_interrupted(int signals);
void ctest_die_relock(void);
void ctest_die_relock_timed(void);
void ctest_die_unlock_by_stranger(void);
void ctest_die_unlock_of_unlocked(void);
void ctest_die_assert_owner(void);
void ctest_die_assert_not_owner(void);

// MARK: conditions, recursive locks, semaphores, latches

ctest_failure ctest_cond_loses_no_wake(int pairs, int items, bool timed, uint64_t seed);
ctest_failure ctest_cond_on_one_processor(int pairs, int items, uint64_t seed);
ctest_failure ctest_cond_signal_wakes_one(int waiters);
ctest_failure ctest_cond_broadcast_wakes_all(int waiters);
ctest_failure ctest_cond_signal_after_broadcast(int waiters);
ctest_failure ctest_cond_timed(void);
ctest_failure ctest_cond_freed_by_woken(int rounds);
ctest_failure ctest_rlock_nests(int threads, int rounds);
ctest_failure ctest_semaphore_shares(int threads, int units, int rounds, bool timed, uint64_t seed);
ctest_failure ctest_semaphore_on_one_processor(int threads, int rounds, uint64_t seed);
ctest_failure ctest_semaphore_order(int waiters);
ctest_failure ctest_semaphore_timed(void);
ctest_failure ctest_semaphore_freed_by_taker(int rounds);
ctest_failure ctest_semaphore_interrupted(int signals);
ctest_failure ctest_latch_opens(int counters, int waiters, int rounds);
ctest_failure ctest_latch_timed(void);
ctest_failure ctest_latch_freed_by_passer(int rounds);
ctest_failure ctest_waits_on_workers(void);
typedef enum ctest_wait_misuse {
  CTEST_WAIT_WITHOUT_LOCK,
  CTEST_WAIT_WITH_OTHER_LOCK,
  CTEST_DESTROY_COND,
  CTEST_DESTROY_SEMAPHORE,
  CTEST_DESTROY_LATCH,
  CTEST_TOO_MANY_UNITS,
  CTEST_TOO_MANY_UNITS_AT_FIRST,
  CTEST_BELOW_ZERO,
  CTEST_TOO_MUCH_TO_COUNT,
  CTEST_RLOCK_STRANGER,
  CTEST_RLOCK_ONCE_TOO_OFTEN,
  CTEST_RLOCK_TOO_DEEP,
  CTEST_RLOCK_NOT_OWNED,
  CTEST_RLOCK_OWNED,
} ctest_wait_misuse;
void ctest_die_of_wait(ctest_wait_misuse how);

// MARK: read-write locks

ctest_failure ctest_rwlock_excludes(int threads, int rounds, bool timed, uint64_t seed);
ctest_failure ctest_rwlock_on_one_processor(int threads, int rounds, uint64_t seed);
ctest_failure ctest_rwlock_side_by_side(int readers);
ctest_failure ctest_rwlock_writer_not_starved(int readers, int writes);
ctest_failure ctest_rwlock_timed(void);
ctest_failure ctest_rwlock_freed_by_writer(int rounds);
typedef enum ctest_rwlock_misuse {
  CTEST_RWLOCK_WRITE_TWICE,
  CTEST_RWLOCK_WRITE_TWICE_TIMED,
  CTEST_RWLOCK_READ_WRITTEN,
  CTEST_RWLOCK_WRITE_READ,
  CTEST_RWLOCK_READ_AGAIN,
  CTEST_RWLOCK_UNLOCK_UNREAD,
  CTEST_RWLOCK_UNLOCK_READ_OF_WRITER,
  CTEST_RWLOCK_UNLOCK_UNWRITTEN,
  CTEST_RWLOCK_STRANGER,
  CTEST_RWLOCK_NOT_WRITER,
  CTEST_RWLOCK_TOO_MANY,
  CTEST_RWLOCK_DESTROY_READ,
  CTEST_RWLOCK_DESTROY_WRITTEN,
} ctest_rwlock_misuse;
void ctest_die_of_rwlock(ctest_rwlock_misuse how);

// MARK: forks

ctest_failure ctest_fork_keeps_owner(void);
ctest_failure ctest_fork_lock_of_another(void);
ctest_failure ctest_fork_own_loop(bool has_source);
ctest_failure ctest_fork_main_loop(void);
ctest_failure ctest_fork_made_anew(void);
ctest_failure ctest_fork_clocks(void);
ctest_failure ctest_fork_on_the_way(void);
ctest_failure ctest_fork_sleepers(void);
ctest_failure ctest_fork_waits(void);
ctest_failure ctest_fork_rwlock(void);
ctest_failure ctest_fork_storm(int forks);
ctest_failure ctest_fork_thread_is_orphaned(void);
ctest_failure ctest_fork_pool_is_orphaned(void);
ctest_failure ctest_fork_queue_is_orphaned(bool is_busy);
ctest_failure ctest_fork_job_is_orphaned(void);
ctest_failure ctest_fork_gives_up(void);
ctest_failure ctest_fork_worker_returns(bool on_queue);
ctest_failure ctest_fork_thread_goes_on(void);

/// Calls `body(context)` in a child, which must end by itself, or, where `says` is not NULL, be stopped with a message that contains it.
ctest_failure ctest_fork_calls(void (*body)(void *context), void *context, const char *says);
/// Lets the child fail.
void ctest_fork_fail(const char *text);

// MARK: thread exit

ctest_failure ctest_end_waited_for(int rounds);
ctest_failure ctest_end_nested(void);
ctest_failure ctest_end_on_trampoline(void);
ctest_failure ctest_end_on_loop(void);
ctest_failure ctest_end_in_fork(void);
ctest_failure ctest_end_queue_goes_on(int rounds);
ctest_failure ctest_end_forked(int rounds);
ctest_failure ctest_job_many_levels(void);

// MARK: what is left by longjmp

ctest_failure ctest_unwind_loop(void);
ctest_failure ctest_unwind_nested_run(void);
ctest_failure ctest_unwind_timer(void);
ctest_failure ctest_unwind_many_levels(void);
ctest_failure ctest_unwind_waited_for(void);
ctest_failure ctest_unwind_sync(void);
ctest_failure ctest_unwind_queue_on_loop(void);
ctest_failure ctest_unwind_and_end(void);
ctest_failure ctest_unwind_without_memory(bool (*fail_allocation)(int64_t number));
ctest_failure ctest_fiber_trampoline(bool is_fiber_higher);
ctest_failure ctest_fiber_current(bool is_fiber_higher);

// MARK: cancellation, signals, no memory

ctest_failure ctest_cancel_in_waits(void);
ctest_failure ctest_cancel_in_jobs(void);
ctest_failure ctest_signal_storm(int rounds);
typedef bool ctest_fail_allocation_at(int64_t number); ///< as ctest_fail_allocation
typedef int64_t ctest_count_left(void);
ctest_failure ctest_memory_creations(ctest_fail_allocation_at *fail, ctest_count_left *left);
ctest_failure ctest_memory_no_threads(void);
ctest_failure ctest_memory_pool_comes_back(void);
/// Keeps the process, which is not root's any more then, from starting threads, or lets it again. Returns whether that was done.
bool ctest_forbid_threads(bool forbids);

// MARK: the environment

ctest_failure ctest_env_owner_ended(void);
ctest_failure ctest_env_owner_is_slow(void);
ctest_failure ctest_env_processors(void);
ctest_failure ctest_env_least_stack(void);
ctest_failure ctest_env_stray_descriptors(void);
ctest_failure ctest_env_fork_when_full(void);
ctest_failure ctest_env_submits_in_handler(bool on_poller, int signals); ///< `signals`: at most 400
ctest_failure ctest_env_locks_in_handler(void);
ctest_failure ctest_env_signal_masks(void);
ctest_failure ctest_env_root_given_up(void); ///< where the process is root's

// MARK: job

ctest_failure ctest_job_exactly_once(int cancellers, int jobs, int rounds,
                                     uint64_t seed); ///< `jobs`: at most 256 a round
ctest_failure ctest_job_cancel_drops_first(void);
ctest_failure ctest_job_release_follows_drop(int rounds);
ctest_failure ctest_job_cancel_and_wait(int rounds);
ctest_failure ctest_job_cancel_and_wait_of_resubmitted(int rounds, int looks);
ctest_failure ctest_job_resubmits_itself(int times);
ctest_failure ctest_job_cancel_of_idle(void);
ctest_failure ctest_job_freed_after_wait(int rounds);
ctest_failure ctest_job_freed_by_whoever_is_woken(void);
ctest_failure ctest_job_freed_by_the_last_waiter(int rounds);
ctest_failure ctest_job_freed_when_idle(int rounds);
ctest_failure ctest_job_used_again_when_idle(int times);
ctest_failure ctest_job_wait_among_runs(int waits);
void ctest_die_job_initialised_in_run(void);
void ctest_die_job_initialised_in_queue(void);
void ctest_die_submit_twice(void);

// MARK: node

ctest_failure ctest_node_once(int rounds);
ctest_failure ctest_node_dropped(int rounds);
ctest_failure ctest_node_virtual(int rounds);
ctest_failure ctest_node_again(int rounds);
ctest_failure ctest_node_left(void);
void ctest_die_node_type(void);

// MARK: task

ctest_failure ctest_task_exactly_once(int cancellers, int tasks, int rounds, uint64_t seed); ///< `tasks`: at most 256
ctest_failure ctest_task_cancelled_late(int rounds);
ctest_failure ctest_task_inside(void);
ctest_failure ctest_task_waits_for_drop(int rounds);
ctest_failure ctest_task_drop_reasons(void);
ctest_failure ctest_task_no_memory(void);
ctest_failure ctest_task_burst(int count);
ctest_failure ctest_task_thread_ends(int threads);
ctest_failure ctest_task_fork(int forks);
ctest_failure ctest_task_fork_in_drop(void);
ctest_failure ctest_task_delayed(int rounds);
ctest_failure ctest_task_delayed_dropped(void);
ctest_failure ctest_task_delayed_exactly_once(int rounds, uint64_t seed);
ctest_failure ctest_timing_next(void);
ctest_failure ctest_task_jitter(void);
ctest_failure ctest_task_repeating_in_virtual_time(void);
ctest_failure ctest_task_repeating_cancelled(int rounds);
ctest_failure ctest_task_repeating_stopped(void);
ctest_failure ctest_task_repeating_at_once(void);

// MARK: mpsc

ctest_failure ctest_mpsc_order(int producers, int jobs);
ctest_failure ctest_mpsc_one_wake_for_a_park(int producers, int rounds, uint64_t seed);
ctest_failure ctest_mpsc_notify_is_seen(int rounds, uint64_t seed);
ctest_failure ctest_mpsc_close_races_push(int producers, int rounds, uint64_t seed);
ctest_failure ctest_mpsc_states(void);

// MARK: trampoline

ctest_failure ctest_trampoline_order(void);
ctest_failure ctest_trampoline_cancelled(void);
ctest_failure ctest_trampoline_chain(int64_t hops);
ctest_failure ctest_trampoline_chain_memory(int64_t hops);
ctest_failure ctest_trampoline_two_threads(int rounds);
ctest_failure ctest_trampoline_thread_exit(bool inside_action);
ctest_failure ctest_trampoline_nested(void);
ctest_failure ctest_trampoline_aside(void);
ctest_failure ctest_trampoline_three_deep(void);
ctest_failure ctest_trampoline_push_outside(void);
ctest_failure ctest_trampoline_unwound(int first_depth, int then_depth);
ctest_failure ctest_trampoline_enter_leave(void);
void ctest_die_pop_without_push(void);

// MARK: loop

ctest_failure ctest_loop_order(int submitters, int jobs);
ctest_failure ctest_loop_wakes(int rounds, uint64_t seed);
ctest_failure ctest_loop_idle(int milliseconds);
ctest_failure ctest_loop_stop_before_run(void);
ctest_failure ctest_loop_stop_innermost(void);
ctest_failure ctest_loop_activations(void);
ctest_failure ctest_loop_activation_stop_races(int rounds, uint64_t seed);
ctest_failure ctest_loop_run_until(void);
ctest_failure ctest_loop_run_once(void);
ctest_failure ctest_loop_run_once_with_stop_pending(void);
ctest_failure ctest_loop_run_ready(void);
ctest_failure ctest_loop_current_is_set(void);
ctest_failure ctest_loop_close(csched_stop_policy policy);
ctest_failure ctest_loop_close_then(csched_stop_policy policy, bool once);
ctest_failure ctest_loop_close_races_submit(int submitters, int rounds, csched_stop_policy policy, bool escalate,
                                            uint64_t seed);
ctest_failure ctest_loop_destroy_drops(void);
ctest_failure ctest_loop_fair(bool in_host);
ctest_failure ctest_loop_batches(void);
ctest_failure ctest_loop_closed_with_many_due(void);
/// `place`: as ctest_clock_order.
ctest_failure ctest_timer_late_keep_their_place(int place, int rounds);
ctest_failure ctest_timer_late_inside(void);
ctest_failure ctest_loop_destroyed_elsewhere(void);
void ctest_die_run_on_other_thread(void);
ctest_failure ctest_loop_destroyed_by_its_own(void);
void ctest_die_loop_destroy(int where); ///< 0 in its own job, 1 a thread's, 2 the main one, 3 on another thread
/// 0 csched_pool_target, 1 _submit, 2 _submit_at, 3 _submit_batch
void ctest_die_priority(int where, int value);
/// 0 csched_loop_close, 1 csched_thread_stop, 2 csched_pool_stop, 3 csched_shutdown
void ctest_die_policy(int where, int value);

// MARK: descriptors of a loop

ctest_failure ctest_fd_ready(void);
ctest_failure ctest_fd_level_and_edge(void);
ctest_failure ctest_fd_removed(void);
ctest_failure ctest_fd_number_used_again(void);
ctest_failure ctest_fd_copy_is_nobodys(void);
ctest_failure ctest_fd_errors(void);
ctest_failure ctest_fd_nested(void);
ctest_failure ctest_fd_many(int count, uint64_t seed);
ctest_failure ctest_fd_thread_exits_inside(void);

// MARK: what a loop calls and counts

ctest_failure ctest_loop_until_done(void);
ctest_failure ctest_loop_statistics(void);
ctest_failure ctest_loop_hooks(void);
ctest_failure ctest_loop_hooks_in_host(void);
ctest_failure ctest_fd_fair(int milliseconds);
ctest_failure ctest_fd_idle(int milliseconds);
ctest_failure ctest_fd_wakes(int rounds, uint64_t seed);
ctest_failure ctest_fd_timers(int timers, uint64_t seed);
void ctest_die_add_fd_on_other_thread(void);

// MARK: signals, children, files, events

ctest_failure ctest_source_signal(void);
ctest_failure ctest_source_signal_refused(void);
ctest_failure ctest_source_signals_beside(int rounds);
ctest_failure ctest_source_signal_forks(void);
ctest_failure ctest_source_child(void);
ctest_failure ctest_source_file(bool forks);
ctest_failure ctest_source_without_descriptors(void);
ctest_failure ctest_source_refused_at_each_step(void);
ctest_failure ctest_source_forks_with_hooks(void);
ctest_failure ctest_source_closed_by_stranger(void);
ctest_failure ctest_event_merges(int threads, int rounds);
ctest_failure ctest_event_cancelled(int rounds);

// MARK: a loop in a host

ctest_failure ctest_host_readable(void);
ctest_failure ctest_host_of_sources(void);
ctest_failure ctest_host_misses_nothing(int submitters, int jobs, uint64_t seed);
ctest_failure ctest_host_timers(int timers, uint64_t seed);
ctest_failure ctest_host_idle(int milliseconds);
ctest_failure ctest_host_without_descriptors(void);
ctest_failure ctest_loop_free(void);
ctest_failure ctest_loop_free_cancelled(void);
ctest_failure ctest_loop_run_through(void);
ctest_failure ctest_loop_taken_over(void);

// MARK: timers of a loop

ctest_failure ctest_timer_order(int timers, bool busy, uint64_t seed);
ctest_failure ctest_timer_equal_deadlines(void);
ctest_failure ctest_timer_overdue_keeps_its_place(void);
ctest_failure ctest_timer_cancel_outside(void);
ctest_failure ctest_timer_cancel_on_its_way(void);
ctest_failure ctest_timer_cancel_inside(void);
ctest_failure ctest_timer_cancel_races(int rounds, uint64_t seed);
ctest_failure ctest_timer_rearmed_and_cancelled(int rounds);
ctest_failure ctest_timer_earlier_wakes(void);
ctest_failure ctest_timer_moved(void);
ctest_failure ctest_timer_debounced(int moves);
ctest_failure ctest_timer_move_races(int rounds, uint64_t seed);
ctest_failure ctest_timer_changes_loops(int rounds);
ctest_failure ctest_timer_leeway_wakes(int timers, int seconds, uint64_t seed);
ctest_failure ctest_timer_leeway_rides_along(void);
ctest_failure ctest_timer_freed_after_wait(int rounds, uint64_t seed);
ctest_failure ctest_timer_outlives_its_loop(void);

// MARK: timers by themselves

ctest_failure ctest_wheel_agrees(int64_t operations, uint64_t seed);
ctest_failure ctest_wheel_equal_deadlines(void);
ctest_failure ctest_wheel_ends_of_time(void);
ctest_failure ctest_wheel_costs(int count, uint64_t seed);
ctest_failure ctest_wheel_gaps(void);
ctest_failure ctest_wheel_wakes(int count, int leeway_ms, bool mixed, uint64_t seed);

ctest_failure ctest_wheel_set_back(int64_t operations, uint64_t seed);

// MARK: timers of other clocks

/// Whether a kernel may end the thread of these clocks, because nothing else of the process uses it. Change it between kernels only.
extern bool ctest_is_alone;
/// `place`: 0 on a thread, 1 on a serial queue of it, 2 on one of a pool.
ctest_failure ctest_clock_order(csched_clock clock, int timers, int place, uint64_t seed);
ctest_failure ctest_clock_late_keep_their_place(int rounds);
ctest_failure ctest_clock_cancel(void);
ctest_failure ctest_clock_cancel_races(int rounds, uint64_t seed);
ctest_failure ctest_clock_edges(void);
ctest_failure ctest_clock_refused(void);
ctest_failure ctest_clock_last_owner(int rounds);
ctest_failure ctest_clock_idle(int milliseconds); ///< when alone
void ctest_exit_clock_alone(int milliseconds);
void ctest_exit_clock_without_descriptors(void);
/// Sets the system's clock by seconds, for a fifth of one. Exits with 77 where that is not permitted.
void ctest_exit_clock_set(void);
void ctest_die_no_such_clock(void);
void ctest_die_timer_of_no_such_clock(void);

// MARK: targets of one's own

ctest_failure ctest_carry_on_no_timekeeper(int rounds, uint64_t seed);
ctest_failure ctest_carry_keeps_order(csched_clock clock, int rounds);
ctest_failure ctest_carry_is_not_held_up(csched_clock clock, int workers);
ctest_failure ctest_carry_cancel_races(csched_clock clock, int rounds, uint64_t seed);

// MARK: thread

ctest_failure ctest_thread_ready(int rounds);
ctest_failure ctest_thread_named(const char *name, const char *shown);
ctest_failure ctest_thread_ends(void);
ctest_failure ctest_thread_stop_races(int stoppers, int rounds);
ctest_failure ctest_thread_restarts(int times);
ctest_failure ctest_thread_destroyed_unjoined(int times);
ctest_failure ctest_thread_joined_by_many(int joiners);
ctest_failure ctest_thread_joined_again(int joiners);
ctest_failure ctest_thread_join_itself(void);
ctest_failure ctest_thread_destroys_itself(int times);
ctest_failure ctest_thread_exits_inside(void);
ctest_failure ctest_thread_absurd_stacks(void);
ctest_failure ctest_thread_interrupted(int signals);
ctest_failure ctest_thread_loop_stop_ends_nothing(void);
ctest_failure ctest_thread_policies(void);

// MARK: shutdown

ctest_failure ctest_threads_counted(void);
ctest_failure ctest_counts_add_up(int threads, int rounds);
ctest_failure ctest_shutdown(csched_stop_policy policy);
ctest_failure ctest_shutdown_clocks(void);
void ctest_die_shutdown(int where); ///< 0 on the trampoline, 1 on a thread, 2 on a pool

// MARK: dumps

ctest_failure ctest_dump_lists_all(void);
ctest_failure ctest_dump_waits(void);
ctest_failure ctest_dump_locks(void);
ctest_failure ctest_dump_describes(void);
ctest_failure ctest_dump_many(int queues);
ctest_failure ctest_dump_beside_changes(int rounds);
ctest_failure ctest_dump_refused(void);
ctest_failure ctest_dump_signal(int signals);
ctest_failure ctest_dump_fork(void);

// MARK: observers

ctest_failure ctest_statistics(void);
ctest_failure ctest_statistics_drops(void);
ctest_failure ctest_statistics_beside_changes(int rounds);
ctest_failure ctest_watch(void);
ctest_failure ctest_watch_ends_itself(int rounds);
ctest_failure ctest_trace(int jobs);
ctest_failure ctest_trace_overload(int jobs);
ctest_failure ctest_trace_refused(void);
ctest_failure ctest_trace_kinds(int rounds);
ctest_failure ctest_trace_instants(void);
ctest_failure ctest_trace_names(void);
ctest_failure ctest_trace_memory(int jobs);
ctest_failure ctest_statistics_kinds(void);
ctest_failure ctest_dump_delayed(void);
ctest_failure ctest_observe_fork(int forks);
ctest_failure ctest_recorder(void);
ctest_failure ctest_recorder_keeps(int jobs);
void ctest_die_recorded(void);

// MARK: serial

ctest_failure ctest_serial_order(int submitters, int jobs);
ctest_failure ctest_serial_timers(int count);
ctest_failure ctest_serial_fair(int jobs);
ctest_failure ctest_serial_suspend(int rounds);
ctest_failure ctest_serial_suspend_races(int jobs);
ctest_failure ctest_serial_sync_inline(void);
ctest_failure ctest_serial_entered(void);
ctest_failure ctest_serial_sync_excludes(int threads, int rounds);
ctest_failure ctest_serial_sync_deadlocks(void);
ctest_failure ctest_waits_threads(int count, int rounds);
ctest_failure ctest_waits_through_queues(int rounds);
ctest_failure ctest_waits_loop(bool is_main_loop);
ctest_failure ctest_waits_stopped(csched_stop_policy policy);
ctest_failure ctest_serial_base_gone(int jobs);
ctest_failure ctest_serial_let_go(int rounds);
void ctest_die_resume(void);

// MARK: limits

ctest_failure ctest_limit_most(int most, int workers, int submitters, int jobs);
ctest_failure ctest_limit_order(int most);
ctest_failure ctest_limit_base_gone(int jobs);
ctest_failure ctest_limit_let_go(int rounds);
ctest_failure ctest_limit_invalid(void);
ctest_failure ctest_limit_ends_thread(bool in_barrier);
ctest_failure ctest_limit_waits(void);
ctest_failure ctest_limit_barrier_waits(int most);
ctest_failure ctest_limit_barriers(int most, int submitters, int jobs);
ctest_failure ctest_limit_barrier_order(int most);
ctest_failure ctest_limit_barrier_cancelled(void);
ctest_failure ctest_limit_barrier_dropped(void);
ctest_failure ctest_limit_fork(void);

// MARK: loops side by side

ctest_failure ctest_apply_parts(int workers, int threads);
ctest_failure ctest_apply_side_by_side(void);
ctest_failure ctest_apply_alone(void);
ctest_failure ctest_apply_without_memory(ctest_fail_allocation_at *fail);
ctest_failure ctest_apply_nested(int workers, int rounds);
ctest_failure ctest_apply_late_helpers(int rounds);
ctest_failure ctest_apply_fork(void);

// MARK: groups

ctest_failure ctest_group_wait(int members, int waiters, int rounds);
ctest_failure ctest_group_timed(void);
ctest_failure ctest_group_tells(int rounds);
ctest_failure ctest_group_freed(int rounds);
void ctest_die_group(int how); ///< 0 a leave too many, 1 an enter too many, 2 a destroy too early
ctest_failure ctest_group_fork(void);

// MARK: cancellations

ctest_failure ctest_cancellation_order(void);
ctest_failure ctest_cancellation_taken_back(int rounds);
ctest_failure ctest_cancellation_grows(int rounds);
ctest_failure ctest_cancellation_deep(int depth);
ctest_failure ctest_cancellation_fork(void);

// MARK: virtual time

ctest_failure ctest_virtual_order(int count, csched_time span, uint64_t seed);
ctest_failure ctest_virtual_million(int count, uint64_t seed); ///< prints what it took
ctest_failure ctest_virtual_widened(void);
ctest_failure ctest_virtual_inside(void);
ctest_failure ctest_virtual_run_ends(void);
ctest_failure ctest_virtual_steps(void);
ctest_failure ctest_virtual_end_of_time(void);
ctest_failure ctest_virtual_serial(void);
ctest_failure ctest_virtual_serial_in_its_place(void);
ctest_failure ctest_virtual_sync_beside_another(void);
ctest_failure ctest_virtual_sync_drives(void);
ctest_failure ctest_virtual_sync_races(int rounds);
ctest_failure ctest_virtual_closed(void);
ctest_failure ctest_virtual_cancelled_go(int count);
ctest_failure ctest_virtual_cancel_races(int rounds);
ctest_failure ctest_virtual_threads(int threads, int jobs);
ctest_failure ctest_virtual_left(void);
ctest_failure ctest_virtual_fork(void);
void ctest_die_virtual(int where); ///< 0 in an advance, 1 in a run

// MARK: pool

ctest_failure ctest_pool_once(int submitters, int jobs, int workers);
ctest_failure ctest_pool_wakes(int rounds, uint64_t seed);
ctest_failure ctest_pool_on_one_processor(int jobs);
ctest_failure ctest_pool_batch(int batches);
ctest_failure ctest_pool_priorities(void);
ctest_failure ctest_pool_aging(void);
/// A job of priority `waiter` waits for a queue of low priority behind default work.
ctest_failure ctest_pool_lends(csched_priority waiter, bool lends);
ctest_failure ctest_pool_lends_at_request(csched_priority waiter, bool lends);
ctest_failure ctest_pool_nice(void);
ctest_failure ctest_pool_lifts_owner(void);
ctest_failure ctest_pool_timers(int count, uint64_t seed);
ctest_failure ctest_pool_says_it_blocks(int rounds);
ctest_failure ctest_pool_stall(int workers, int rounds, int limit_ms);
/// What a job does after it has submitted another one.
typedef enum ctest_pool_submitter {
  CTEST_SUBMITTER_RETURNS,
  CTEST_SUBMITTER_COMPUTES,
  CTEST_SUBMITTER_COMPUTES_BESIDE_THE_BUSY,
  CTEST_SUBMITTER_BLOCKS,
  CTEST_SUBMITTER_SAYS_IT_BLOCKS,
  CTEST_SUBMITTER_ENDS_ITS_THREAD,
} ctest_pool_submitter;
ctest_failure ctest_pool_keeps(ctest_pool_submitter kind, int rounds);
ctest_failure ctest_pool_cap(void);
ctest_failure ctest_pool_idle(int milliseconds);
ctest_failure ctest_pool_idle_exit(void);
ctest_failure ctest_pool_idle_exit_races(int rounds, uint64_t seed);
ctest_failure ctest_pool_ends(void);
ctest_failure ctest_pool_stop_races(int rounds, csched_stop_policy policy);
ctest_failure ctest_pool_exits_inside(int rounds);
ctest_failure ctest_pool_named(const char *name, const char *shown);
ctest_failure ctest_pool_absurd_stacks(void);
ctest_failure ctest_pool_fib(int n, int jobs, int workers);
ctest_failure ctest_pool_fib_on_one_processor(void);
ctest_failure ctest_pool_wait_sleeps(void);
ctest_failure ctest_pool_fork_many(void);
ctest_failure ctest_pool_fork_beside_queued(int rounds);
void ctest_die_pool_destroyed_inside(void);
void ctest_exit_pool_without_threads(void);
void ctest_exit_pool_cap(int most, bool says_so);

CSCHED_END_DECLS

#endif
