// All kernels of the C core's tests as a program of its own, for tools that need the whole process to be C.
// (300 lines and more: most of it is one list.)
//
//   --list             names the kernels, those that would be run
//   --only PREFIX      runs those whose names begin so; --without PREFIX: all but those
//   --scale N          does N times the rounds; 1/N: one in so many
//   --seed N           repeats a run's chances
//   --under TOOL       sanitizer, valgrind, helgrind, drd or qemu: leaves out what makes no sense there, and says why
//
// Kernels that end the process (ctest_die_*) are left to CSchedulerTests.

#include <CTests.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum tool { NO_TOOL = 0, SANITIZER = 1, VALGRIND = 2, HELGRIND = 4, QEMU = 8, DRD = 16 } tool;

static struct {
  bool lists;
  const char *prefix, *without;
  int scale, divisor;
  uint64_t seed;
  int under;
  int passed, failed;
} options = {.prefix = "", .scale = 1, .divisor = 1};

static int times(int count) {
  int scaled = count * options.scale / options.divisor;
  return scaled > 0 ? scaled : 1;
}

// How many of what is slow under a tool that follows each access: an eighth there.
static int few(int count) { return (options.under & (DRD | HELGRIND)) != 0 ? (count + 7) / 8 : count; }

static uint64_t seed(void) { return options.seed; }

// Whether the kernel of this text, a call of ctest_*, is to be run.
static bool wants(const char *name, int tools, const char *reason) {
  if (strncmp(name, options.prefix, strlen(options.prefix)) != 0) return false;
  if (options.without != NULL && strncmp(name, options.without, strlen(options.without)) == 0) return false;
  bool is_left_out = (tools & options.under) != 0;
  if (options.lists && !is_left_out) printf("%s\n", name);
  if (!options.lists && is_left_out) printf("skipped %s: %s\n", name, reason);
  return !options.lists && !is_left_out;
}

static void tell(const char *name, csched_time began, ctest_failure failure) {
  unsigned long long ms = (csched_now() - began) / 1000000;
  if (failure == NULL) printf("ok %s (%llu ms)\n", name, ms);
  else printf("FAILED %s (%llu ms): %s\n", name, ms, failure);
  fflush(stdout);
  options.passed += failure == NULL;
  options.failed += failure != NULL;
}

// A kernel's name is its call, without the prefix.
#define RUN_NAMED(name, tools, reason, call)                                                                           \
  do {                                                                                                                 \
    const char *name_ = &(name)[sizeof "ctest_" - 1];                                                                  \
    if (!wants(name_, (tools), (reason))) break;                                                                       \
    csched_time began_ = csched_now();                                                                                 \
    tell(name_, began_, (call));                                                                                       \
  } while (0)
#define RUN(call)                       RUN_NAMED(#call, NO_TOOL, "", call)
#define RUN_UNLESS(tools, reason, call) RUN_NAMED(#call, tools, reason, call)

static const char *const own_memory = "the tool's own memory grows";
static const char *const no_child = "tools do not follow a process with threads into its child";
static const char *const no_peek = "qemu's process does not read its own memory by a system call";

static void run_lock(void) {
  RUN(ctest_lock_excludes(2, times(1000), 0));
  RUN(ctest_lock_excludes(8, times(200), 50));
  RUN(ctest_lock_excludes(24, times(20), 0));
  RUN(ctest_lock_excludes_on_one_processor(2, times(200)));
  RUN(ctest_lock_excludes_on_one_processor(16, times(50)));
  RUN(ctest_lock_trylock(4, times(500)));
  RUN(ctest_lock_loses_no_wake(1, times(50), false, false, seed()));
  RUN(ctest_lock_loses_no_wake(3, times(50), false, false, seed()));
  RUN(ctest_lock_loses_no_wake(8, times(20), false, false, seed()));
  RUN(ctest_lock_loses_no_wake(2, times(50), true, false, seed()));
  RUN(ctest_lock_loses_no_wake(4, times(50), true, false, seed()));
  RUN(ctest_lock_loses_no_wake(8, times(20), true, false, seed()));
  RUN(ctest_lock_loses_no_wake(3, times(20), false, true, seed()));
  RUN(ctest_lock_loses_no_wake(4, times(20), true, true, seed()));
  RUN(ctest_lock_relay(4, times(40)));
  RUN(ctest_lock_shared_buckets(8, 100, times(100), seed()));
  RUN(ctest_lock_freed_after_unlock(2, times(50), false));
  RUN(ctest_lock_freed_after_unlock(8, times(20), false));
  RUN(ctest_lock_freed_after_unlock(4, times(20), true));
  RUN(ctest_lock_handed_over(1, 500, 0, times(10), 4000)); // the limit is for the bare process
  RUN(ctest_lock_handed_over(1, 50, 0, times(10), 4000));
  RUN(ctest_lock_handed_over(2, 3, 1, times(10), 4000));
  RUN(ctest_lock_handed_over(16, 20, 0, times(4), 4000));
  RUN(ctest_lock_handed_over_on_one_processor(1, 200, times(10), 4000));
  RUN(ctest_lock_handed_over_on_one_processor(4, 200, times(4), 4000));
  RUN(ctest_lock_passed(times(20), 128));
  RUN(ctest_lock_timed());
  RUN(ctest_lock_timed_storm(8, times(20), seed()));
  RUN(ctest_lock_interrupted(times(100)));
  RUN(ctest_lock_zero_is_unlocked());
}

static void run_waiting(void) {
  for (int timed = 0; timed < 2; timed++) {
    RUN(ctest_cond_loses_no_wake(1, times(100), timed, seed()));
    RUN(ctest_cond_loses_no_wake(3, times(50), timed, seed()));
    RUN(ctest_semaphore_shares(2, 1, times(200), timed, seed()));
    RUN(ctest_semaphore_shares(8, 3, times(50), timed, seed()));
  }
  RUN(ctest_cond_on_one_processor(2, times(50), seed()));
  RUN(ctest_cond_signal_wakes_one(8));
  RUN(ctest_cond_broadcast_wakes_all(8));
  RUN(ctest_cond_signal_after_broadcast(4));
  RUN(ctest_cond_timed());
  RUN(ctest_cond_freed_by_woken(times(20)));
  RUN(ctest_rlock_nests(4, times(100)));
  RUN(ctest_semaphore_on_one_processor(4, times(50), seed()));
  RUN(ctest_semaphore_order(8));
  RUN(ctest_semaphore_timed());
  RUN(ctest_semaphore_freed_by_taker(times(20)));
  RUN(ctest_semaphore_interrupted(times(100)));
  RUN(ctest_latch_opens(4, 4, times(20)));
  RUN(ctest_latch_timed());
  RUN(ctest_latch_freed_by_passer(times(20)));
  RUN(ctest_waits_on_workers());
  for (int timed = 0; timed < 2; timed++) RUN(ctest_rwlock_excludes(8, times(50), timed, seed()));
  RUN(ctest_rwlock_excludes(2, times(200), false, seed()));
  RUN(ctest_rwlock_on_one_processor(4, times(50), seed()));
  RUN(ctest_rwlock_side_by_side(8));
  RUN(ctest_rwlock_writer_not_starved(4, times(4)));
  RUN(ctest_rwlock_timed());
  RUN(ctest_rwlock_freed_by_writer(times(20)));
}

static void run_failures(void) {
  RUN(ctest_end_waited_for(times(10)));
  RUN(ctest_end_nested());
  RUN(ctest_end_on_trampoline());
  RUN(ctest_end_on_loop());
  RUN(ctest_end_in_fork());
  RUN(ctest_end_queue_goes_on(times(20)));
  RUN(ctest_end_forked(times(20)));
  RUN(ctest_job_many_levels());
  RUN(ctest_cancel_in_waits());
  RUN(ctest_cancel_in_jobs());
  RUN(ctest_signal_storm(times(20)));
  static const char *const no_thread = "tools do not follow a process with threads into its child, and under qemu that "
                                       "child cannot start a thread";
  const int all = SANITIZER | VALGRIND | HELGRIND, starting = all | QEMU;
  RUN_UNLESS(starting, no_thread, ctest_fork_keeps_owner());
  RUN_UNLESS(all, no_child, ctest_fork_lock_of_another());
  RUN_UNLESS(starting, no_thread, ctest_fork_own_loop(false));
  RUN_UNLESS(starting, no_thread, ctest_fork_own_loop(true));
  RUN_UNLESS(all, no_child, ctest_fork_main_loop());
  RUN_UNLESS(starting, no_thread, ctest_fork_made_anew());
  RUN_UNLESS(starting, no_thread, ctest_fork_clocks());
  RUN_UNLESS(all, no_child, ctest_fork_on_the_way());
  RUN_UNLESS(starting, no_thread, ctest_fork_sleepers());
  RUN_UNLESS(all, no_child, ctest_fork_waits());
  RUN_UNLESS(all, no_child, ctest_fork_rwlock());
  RUN_UNLESS(starting, no_thread, ctest_fork_storm(times(20)));
  RUN_UNLESS(all, no_child, ctest_fork_thread_is_orphaned());
  RUN_UNLESS(all, no_child, ctest_fork_pool_is_orphaned());
  RUN_UNLESS(all, no_child, ctest_fork_queue_is_orphaned(false));
  RUN_UNLESS(all, no_child, ctest_fork_queue_is_orphaned(true));
  RUN_UNLESS(all, no_child, ctest_fork_job_is_orphaned());
  RUN_UNLESS(all, no_child, ctest_fork_gives_up());
  RUN_UNLESS(all, no_child, ctest_fork_worker_returns(false));
  RUN_UNLESS(all, no_child, ctest_fork_worker_returns(true));
  RUN_UNLESS(all, no_child, ctest_fork_thread_goes_on());
  RUN_UNLESS(starting, no_thread, ctest_memory_no_threads());
  RUN_UNLESS(starting, no_thread, ctest_memory_pool_comes_back());
}

static void run_environment(void) {
  static const char *const why = "tools do not follow a process with threads into its child, and under qemu that child "
                                 "cannot start a thread";
  const int all = SANITIZER | VALGRIND | HELGRIND | QEMU;
  RUN_UNLESS(all, why, ctest_env_owner_ended());
  RUN(ctest_env_owner_is_slow());
  RUN_UNLESS(all, why, ctest_env_processors());
  RUN_UNLESS(all, why, ctest_env_least_stack());
  RUN_UNLESS(all, why, ctest_env_stray_descriptors());
  RUN_UNLESS(all, why, ctest_env_fork_when_full());
  RUN(ctest_env_submits_in_handler(false, few(400)));
  RUN(ctest_env_submits_in_handler(true, few(400)));
  RUN_UNLESS(all, why, ctest_env_locks_in_handler());
  RUN_UNLESS(all, why, ctest_env_signal_masks());
  RUN_UNLESS(all, why, ctest_env_root_given_up());
}

static void run_job(void) {
  RUN(ctest_job_exactly_once(1, few(256), times(4), seed()));
  RUN(ctest_job_exactly_once(4, few(256), times(2), seed()));
  RUN(ctest_job_exactly_once(8, few(256), times(1), seed()));
  RUN(ctest_job_cancel_drops_first());
  RUN(ctest_job_release_follows_drop(times(10)));
  RUN(ctest_job_cancel_and_wait(times(50)));
  RUN(ctest_job_cancel_and_wait_of_resubmitted(times(4), few(200)));
  RUN(ctest_job_resubmits_itself(times(1000)));
  RUN(ctest_job_cancel_of_idle());
  RUN(ctest_job_freed_after_wait(times(4000)));
  RUN(ctest_job_freed_by_whoever_is_woken());
  RUN(ctest_job_freed_by_the_last_waiter(times(200)));
  RUN(ctest_job_freed_when_idle(times(500)));
  RUN(ctest_job_used_again_when_idle(times(1000)));
  RUN(ctest_job_wait_among_runs(times(50)));
}

static void run_node(void) {
  RUN(ctest_node_once(times(100)));
  RUN(ctest_node_dropped(times(20)));
  RUN(ctest_node_virtual(times(100)));
  RUN(ctest_node_again(times(100)));
  RUN(ctest_node_left());
}

static void run_task(void) {
  RUN(ctest_task_exactly_once(1, few(256), times(4), seed()));
  RUN(ctest_task_exactly_once(4, few(256), times(4), seed()));
  RUN(ctest_task_cancelled_late(times(20)));
  RUN(ctest_task_inside());
  RUN(ctest_task_waits_for_drop(times(10)));
  RUN(ctest_task_drop_reasons());
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | DRD | QEMU, "the tool needs memory, too", ctest_task_no_memory());
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | DRD | QEMU, own_memory, ctest_task_burst(1000000));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | DRD | QEMU, own_memory, ctest_task_thread_ends(times(1000)));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | DRD | QEMU, no_child, ctest_task_fork(times(50)));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | DRD | QEMU, no_child, ctest_task_fork_in_drop());
  RUN(ctest_task_delayed(times(4)));
  RUN(ctest_task_delayed_dropped());
  RUN(ctest_task_delayed_exactly_once(times(20), seed()));
  RUN(ctest_timing_next());
  RUN(ctest_task_jitter());
  RUN(ctest_task_repeating_in_virtual_time());
  RUN(ctest_task_repeating_cancelled(few(times(40))));
  RUN(ctest_task_repeating_stopped());
  RUN(ctest_task_repeating_at_once());
}

static void run_mpsc(void) {
  RUN(ctest_mpsc_order(1, times(2000)));
  RUN(ctest_mpsc_order(4, times(1000)));
  RUN(ctest_mpsc_one_wake_for_a_park(1, times(500), seed()));
  RUN(ctest_mpsc_one_wake_for_a_park(4, times(200), seed()));
  RUN(ctest_mpsc_notify_is_seen(times(500), seed()));
  RUN(ctest_mpsc_close_races_push(3, times(20), seed()));
  RUN(ctest_mpsc_states());
}

static void run_trampoline(void) {
  RUN(ctest_trampoline_order());
  RUN(ctest_trampoline_cancelled());
  RUN(ctest_trampoline_chain(times(10000)));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | DRD | QEMU, own_memory, ctest_trampoline_chain_memory(times(1000000)));
  RUN(ctest_trampoline_two_threads(times(50)));
  RUN(ctest_trampoline_thread_exit(true));
  RUN(ctest_trampoline_thread_exit(false));
  RUN(ctest_trampoline_nested());
  RUN(ctest_trampoline_three_deep());
  RUN(ctest_trampoline_push_outside());
  RUN(ctest_trampoline_unwound(8, 0));
  RUN(ctest_trampoline_unwound(1, 0));
  RUN(ctest_trampoline_unwound(0, 0));
  RUN(ctest_trampoline_enter_leave());
}

static void run_unwind(void) {
  RUN(ctest_unwind_loop());
  RUN(ctest_unwind_nested_run());
  RUN(ctest_unwind_timer());
  RUN(ctest_unwind_many_levels());
  RUN(ctest_unwind_waited_for());
  RUN(ctest_unwind_sync());
  RUN(ctest_unwind_queue_on_loop());
  RUN(ctest_unwind_and_end());
  RUN_UNLESS(SANITIZER | VALGRIND, "it is not told of the stacks", ctest_fiber_trampoline(false));
  RUN_UNLESS(SANITIZER | VALGRIND, "it is not told of the stacks", ctest_fiber_trampoline(true));
  RUN_UNLESS(SANITIZER | VALGRIND, "it is not told of the stacks", ctest_fiber_current(false));
  RUN_UNLESS(SANITIZER | VALGRIND, "it is not told of the stacks", ctest_fiber_current(true));
}

static void run_loop(void) {
  RUN(ctest_loop_order(1, times(500)));
  RUN(ctest_loop_order(4, times(200)));
  RUN(ctest_loop_wakes(times(200), seed()));
  RUN(ctest_loop_idle(50));
  RUN(ctest_loop_stop_before_run());
  RUN(ctest_loop_stop_innermost());
  RUN(ctest_loop_activations());
  RUN(ctest_loop_activation_stop_races(times(200), seed()));
  RUN(ctest_loop_run_until());
  RUN(ctest_loop_run_once());
  RUN(ctest_loop_run_once_with_stop_pending());
  RUN(ctest_loop_run_ready());
  RUN(ctest_loop_current_is_set());
  RUN(ctest_loop_close(CSCHED_STOP_RUN));
  RUN(ctest_loop_close(CSCHED_STOP_DROP));
  RUN(ctest_loop_close_then(CSCHED_STOP_RUN, true));
  RUN(ctest_loop_close_then(CSCHED_STOP_RUN, false));
  RUN(ctest_loop_close_then(CSCHED_STOP_DROP, true));
  RUN(ctest_loop_close_then(CSCHED_STOP_DROP, false));
  RUN(ctest_loop_close_races_submit(3, times(5), CSCHED_STOP_RUN, false, seed()));
  RUN(ctest_loop_close_races_submit(3, times(5), CSCHED_STOP_DROP, false, seed()));
  RUN(ctest_loop_close_races_submit(3, times(5), CSCHED_STOP_RUN, true, seed()));
  RUN(ctest_loop_destroy_drops());
  RUN(ctest_loop_destroyed_elsewhere());
  RUN(ctest_loop_destroyed_by_its_own());
  RUN_UNLESS(HELGRIND, "it is one thread, busy for long", ctest_loop_fair(false));
  RUN_UNLESS(HELGRIND, "it is one thread, busy for long", ctest_loop_fair(true));
  RUN(ctest_loop_batches());
  RUN(ctest_loop_closed_with_many_due());
}

static void run_timer(void) {
  RUN(ctest_timer_order(100, false, seed()));
  RUN(ctest_timer_order(100, true, seed()));
  RUN(ctest_timer_equal_deadlines());
  RUN(ctest_timer_overdue_keeps_its_place());
  RUN(ctest_timer_late_keep_their_place(0, times(50)));
  RUN(ctest_timer_late_keep_their_place(1, times(50)));
  RUN(ctest_timer_late_keep_their_place(2, times(50)));
  RUN(ctest_timer_late_inside());
  RUN(ctest_timer_cancel_outside());
  RUN(ctest_timer_cancel_on_its_way());
  RUN(ctest_timer_cancel_inside());
  RUN(ctest_timer_cancel_races(times(20), seed()));
  RUN(ctest_timer_rearmed_and_cancelled(times(20)));
  RUN(ctest_timer_earlier_wakes());
  RUN(ctest_timer_moved());
  RUN(ctest_timer_debounced(times(200)));
  RUN(ctest_timer_move_races(times(20), seed()));
  RUN(ctest_timer_changes_loops(times(20)));
  RUN(ctest_timer_leeway_rides_along());
  RUN(ctest_timer_freed_after_wait(times(1000), seed()));
  RUN(ctest_timer_outlives_its_loop());
  RUN(ctest_wheel_agrees(times(20000), seed()));
  RUN(ctest_wheel_equal_deadlines());
  RUN(ctest_wheel_ends_of_time());
  RUN(ctest_wheel_costs(times(1000), seed()));
  RUN(ctest_wheel_gaps());
}

static void run_clock(void) {
  RUN(ctest_wheel_set_back(times(20000), seed()));
  RUN(ctest_clock_order(CSCHED_CLOCK_BOOT, 50, 0, seed()));
  RUN(ctest_clock_order(CSCHED_CLOCK_WALL, 50, 0, seed()));
  RUN(ctest_clock_order(CSCHED_CLOCK_WALL, 50, 1, seed()));
  RUN(ctest_clock_order(CSCHED_CLOCK_BOOT, 50, 2, seed()));
  RUN(ctest_clock_late_keep_their_place(times(20)));
  RUN(ctest_clock_cancel());
  RUN(ctest_clock_cancel_races(times(20), seed()));
  RUN(ctest_clock_edges());
  RUN(ctest_clock_refused());
  RUN(ctest_clock_last_owner(times(50)));
  RUN(ctest_clock_idle(50));
}

static void run_carry(void) {
  RUN(ctest_carry_on_no_timekeeper(times(1), seed()));
  for (csched_clock clock = CSCHED_CLOCK_MONOTONIC; clock <= CSCHED_CLOCK_WALL; clock++) {
    RUN(ctest_carry_keeps_order(clock, times(50)));
    RUN(ctest_carry_is_not_held_up(clock, 1));
    RUN(ctest_carry_is_not_held_up(clock, 2));
    RUN(ctest_carry_cancel_races(clock, times(20), seed()));
  }
}

static void run_fd(void) {
  RUN(ctest_fd_ready());
  RUN(ctest_fd_level_and_edge());
  RUN(ctest_fd_removed());
  RUN(ctest_fd_number_used_again());
  RUN(ctest_fd_copy_is_nobodys());
  RUN(ctest_fd_errors());
  RUN(ctest_fd_nested());
  RUN(ctest_fd_many(50, seed()));
  RUN(ctest_fd_wakes(times(100), seed()));
  RUN(ctest_fd_timers(times(20), seed()));
  RUN(ctest_source_signal());
  RUN(ctest_source_signal_refused());
  RUN(ctest_source_signals_beside(times(1000)));
  RUN_UNLESS(VALGRIND | HELGRIND | QEMU, no_child, ctest_source_signal_forks());
  RUN_UNLESS(VALGRIND | HELGRIND | QEMU, "it may not know pidfd_open", ctest_source_child());
  RUN(ctest_source_file(false));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND, no_child, ctest_source_file(true));
  RUN_UNLESS(VALGRIND | HELGRIND | QEMU, "it keeps descriptors of its own", ctest_source_without_descriptors());
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | DRD | QEMU, "it keeps descriptors of its own",
             ctest_source_refused_at_each_step());
  RUN_UNLESS(VALGRIND | HELGRIND | QEMU, "tools do not follow a process with threads into its child",
             ctest_source_forks_with_hooks());
  RUN_UNLESS(HELGRIND, no_child, ctest_source_closed_by_stranger());
  RUN(ctest_event_merges(3, times(10000)));
  RUN(ctest_event_cancelled(few(times(100))));
  RUN(ctest_host_readable());
  RUN(ctest_host_of_sources());
  RUN(ctest_host_misses_nothing(3, times(100), seed()));
  RUN(ctest_host_timers(times(20), seed()));
  RUN(ctest_loop_free());
  RUN(ctest_loop_free_cancelled());
  RUN(ctest_loop_run_through());
  RUN(ctest_loop_taken_over());
  RUN(ctest_loop_until_done());
  RUN(ctest_loop_statistics());
  RUN(ctest_loop_hooks());
  RUN(ctest_loop_hooks_in_host());
}

static void run_pool(void) {
  RUN(ctest_pool_once(4, times(100), 0));
  RUN(ctest_pool_wakes(times(100), seed()));
  RUN(ctest_pool_on_one_processor(few(2000)));
  RUN(ctest_pool_batch(times(10)));
  RUN(ctest_pool_priorities());
  RUN(ctest_pool_aging());
  RUN(ctest_pool_lends(CSCHED_PRIORITY_HIGH, true));
  RUN(ctest_pool_lends(CSCHED_PRIORITY_LOW, false));
  RUN(ctest_pool_lends_at_request(CSCHED_PRIORITY_DEFAULT, true));
  RUN(ctest_pool_lends_at_request(CSCHED_PRIORITY_LOW, false));
  RUN(ctest_pool_nice());
  RUN(ctest_pool_lifts_owner());
  RUN(ctest_pool_timers(50, seed()));
  RUN(ctest_pool_keeps(CTEST_SUBMITTER_RETURNS, times(200)));
  RUN(ctest_pool_keeps(CTEST_SUBMITTER_COMPUTES, times(20)));
  RUN(ctest_pool_keeps(CTEST_SUBMITTER_COMPUTES_BESIDE_THE_BUSY, times(20)));
  RUN(ctest_pool_keeps(CTEST_SUBMITTER_BLOCKS, times(4)));
  RUN(ctest_pool_keeps(CTEST_SUBMITTER_SAYS_IT_BLOCKS, times(20)));
  RUN(ctest_pool_keeps(CTEST_SUBMITTER_ENDS_ITS_THREAD, times(20)));
  RUN(ctest_pool_cap());
  RUN(ctest_pool_idle_exit_races(times(20), seed()));
  RUN(ctest_pool_ends());
  RUN(ctest_pool_stop_races(times(10), CSCHED_STOP_RUN));
  RUN(ctest_pool_stop_races(times(10), CSCHED_STOP_DROP));
  RUN(ctest_pool_fib(12, 4, 2));
  RUN(ctest_pool_fork_many());
  RUN(ctest_pool_fork_beside_queued(times(200)));
  RUN_UNLESS(DRD, "it bounds processor time, most of which is the tool's", ctest_pool_wait_sleeps());
}

static void run_serial(void) {
  RUN(ctest_serial_order(4, times(200)));
  RUN(ctest_serial_timers(50));
  RUN(ctest_serial_fair(200));
  RUN(ctest_serial_suspend(times(10)));
  RUN(ctest_serial_suspend_races(times(100)));
  RUN(ctest_serial_sync_inline());
  RUN(ctest_serial_entered());
  RUN(ctest_serial_sync_excludes(4, times(50)));
  RUN(ctest_serial_sync_deadlocks());
  RUN(ctest_waits_threads(2, times(20)));
  RUN(ctest_waits_threads(3, times(20)));
  RUN(ctest_waits_through_queues(times(20)));
  RUN(ctest_waits_loop(false));
  RUN(ctest_waits_loop(true));
  RUN(ctest_waits_stopped(CSCHED_STOP_RUN));
  RUN(ctest_waits_stopped(CSCHED_STOP_DROP));
  RUN(ctest_serial_base_gone(20));
  RUN(ctest_serial_let_go(times(20)));
}

static void run_limits(void) {
  RUN(ctest_limit_most(1, 2, 4, times(100)));
  RUN(ctest_limit_most(3, 2, 4, times(100))); // more than there are workers
  RUN(ctest_limit_most(2, 1, 2, times(100)));
  RUN(ctest_limit_order(1));
  RUN(ctest_limit_order(3));
  RUN(ctest_limit_base_gone(20));
  RUN(ctest_limit_let_go(times(50)));
  RUN(ctest_limit_invalid());
  RUN(ctest_limit_ends_thread(false));
  RUN(ctest_limit_ends_thread(true));
  RUN(ctest_limit_waits());
  RUN(ctest_limit_barrier_waits(1));
  RUN(ctest_limit_barrier_waits(3));
  RUN(ctest_limit_barriers(1, 3, times(100)));
  RUN(ctest_limit_barriers(4, 3, times(200)));
  RUN(ctest_limit_barrier_order(1));
  RUN(ctest_limit_barrier_order(4));
  RUN(ctest_limit_barrier_cancelled());
  RUN(ctest_limit_barrier_dropped());
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND, no_child, ctest_limit_fork());
}

static void run_applies(void) {
  RUN(ctest_apply_parts(2, 3));
  RUN(ctest_apply_parts(1, 2));
  RUN(ctest_apply_parts(2, 1));
  RUN(ctest_apply_side_by_side());
  RUN(ctest_apply_alone());
  RUN(ctest_apply_nested(1, times(2)));
  RUN(ctest_apply_nested(3, times(10)));
  RUN(ctest_apply_late_helpers(times(20)));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND, no_child, ctest_apply_fork());
}

static void run_cancellations(void) {
  RUN(ctest_cancellation_order());
  RUN(ctest_cancellation_taken_back(times(200)));
  RUN(ctest_cancellation_grows(times(20)));
  RUN(ctest_cancellation_deep(times(10000)));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND, no_child, ctest_cancellation_fork());
}

static void run_groups(void) {
  RUN(ctest_group_wait(4, 3, times(200)));
  RUN(ctest_group_timed());
  RUN(ctest_group_tells(times(20)));
  RUN(ctest_group_freed(times(100)));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND, no_child, ctest_group_fork());
}

static void run_virtual(void) {
  RUN(ctest_virtual_order(times(200), 300, seed()));
  RUN(ctest_virtual_order(times(200), (csched_time)1 << 60, seed()));
  RUN(ctest_virtual_million(times(10000), seed()));
  RUN(ctest_virtual_widened());
  RUN(ctest_virtual_inside());
  RUN(ctest_virtual_run_ends());
  RUN(ctest_virtual_steps());
  RUN(ctest_virtual_end_of_time());
  RUN(ctest_virtual_serial());
  RUN(ctest_virtual_serial_in_its_place());
  RUN(ctest_virtual_sync_beside_another());
  RUN(ctest_virtual_sync_drives());
  RUN(ctest_virtual_sync_races(times(100)));
  RUN(ctest_virtual_closed());
  RUN(ctest_virtual_cancelled_go(times(500)));
  RUN(ctest_virtual_cancel_races(few(times(200))));
  RUN(ctest_virtual_threads(4, times(100)));
  RUN(ctest_virtual_left());
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND, no_child, ctest_virtual_fork());
}

static void run_thread(void) {
  RUN(ctest_thread_ready(times(5)));
  RUN(ctest_thread_named("", NULL));
  RUN(ctest_thread_named("exactly-fifteen", "exactly-fifteen"));
  RUN(ctest_thread_named("sixteen-bytes-xx", "sixteen-bytes-x"));
  RUN(ctest_thread_named("fourteen-bytesé", "fourteen-bytes"));
  RUN(ctest_thread_ends());
  RUN(ctest_thread_stop_races(4, times(20)));
  RUN(ctest_thread_restarts(times(50)));
  RUN(ctest_thread_destroyed_unjoined(times(20)));
  RUN(ctest_thread_joined_by_many(8));
  RUN(ctest_thread_joined_again(8));
  RUN(ctest_thread_join_itself());
  RUN(ctest_thread_destroys_itself(times(10)));
  RUN(ctest_thread_exits_inside());
  RUN_UNLESS(HELGRIND, "a pthread_create that fails is a finding there, and here it is meant to fail",
             ctest_thread_absurd_stacks());
  RUN(ctest_thread_interrupted(times(100)));
  RUN(ctest_thread_loop_stop_ends_nothing());
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND, no_child, ctest_thread_policies());
}

// After all others: the main loop is closed from then on.
static void run_observe(void) {
  RUN(ctest_statistics());
  RUN(ctest_statistics_drops());
  RUN(ctest_statistics_beside_changes(few(times(500))));
  RUN_UNLESS(QEMU, no_peek, ctest_watch());
  RUN(ctest_watch_ends_itself(times(5)));
  RUN(ctest_trace(few(times(1000))));
  RUN(ctest_trace_overload(few(times(2000))));
  RUN(ctest_trace_refused());
  RUN_UNLESS(DRD | HELGRIND, "one thread runs at a time: a target may go before the writer has come to it",
             ctest_trace_kinds(times(100)));
  RUN(ctest_trace_instants());
  RUN(ctest_trace_names());
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | QEMU | DRD, "tools keep memory of their own for each access",
             ctest_trace_memory(times(40000)));
  RUN(ctest_statistics_kinds());
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND | QEMU, no_child, ctest_observe_fork(times(5)));
  RUN_UNLESS(QEMU, no_peek, ctest_recorder());
  RUN_UNLESS(QEMU, no_peek, ctest_recorder_keeps(500));
  RUN_UNLESS(QEMU, no_peek, ctest_recorder_keeps(20000));
}

static void run_dump(void) {
  RUN_UNLESS(QEMU, no_peek, ctest_dump_lists_all());
  RUN(ctest_dump_waits());
  RUN_UNLESS(QEMU, no_peek, ctest_dump_locks());
  RUN_UNLESS(QEMU, no_peek, ctest_dump_describes());
  RUN_UNLESS(QEMU, no_peek, ctest_dump_delayed());
  RUN(ctest_dump_many(few(times(10000))));
  RUN(ctest_dump_beside_changes(few(times(200))));
  RUN(ctest_dump_refused());
  RUN_UNLESS(QEMU, no_peek, ctest_dump_signal(times(5)));
  RUN_UNLESS(SANITIZER | VALGRIND | HELGRIND, no_child, ctest_dump_fork());
}

static void run_shutdown(void) {
  RUN(ctest_counts_add_up(few(100), times(100)));
  RUN(ctest_shutdown(CSCHED_STOP_RUN));
  RUN(ctest_shutdown(CSCHED_STOP_DROP));
  RUN(ctest_threads_counted()); // when those that carry jobs to their instants, and leave when they are idle for long, have left
}

static void read_scale(const char *text) {
  int *number = strncmp(text, "1/", 2) == 0 ? &options.divisor : &options.scale;
  char *end;
  long value = strtol(number == &options.divisor ? text + 2 : text, &end, 10);
  if (*end != 0 || value < 1 || value > 1000) {
    fprintf(stderr, "a scale is N or 1/N, N from 1 to 1000, not %s\n", text);
    exit(64);
  }
  *number = (int)value;
}

static void read_arguments(int count, char **arguments) {
  options.seed = csched_now();
  for (int i = 1; i < count; i++) {
    const char *each = arguments[i], *value = i + 1 < count ? arguments[i + 1] : NULL;
    if (strcmp(each, "--list") == 0) {
      options.lists = true;
      continue;
    }
    bool is_known = value != NULL;
    if (is_known && strcmp(each, "--only") == 0) options.prefix = value;
    else if (is_known && strcmp(each, "--without") == 0) options.without = value;
    else if (is_known && strcmp(each, "--scale") == 0) read_scale(value);
    else if (is_known && strcmp(each, "--seed") == 0) options.seed = strtoull(value, NULL, 0);
    else if (is_known && strcmp(each, "--under") == 0 && strcmp(value, "sanitizer") == 0) options.under = SANITIZER;
    else if (is_known && strcmp(each, "--under") == 0 && strcmp(value, "valgrind") == 0) options.under = VALGRIND;
    else if (is_known && strcmp(each, "--under") == 0 && strcmp(value, "qemu") == 0) options.under = QEMU;
    else if (is_known && strcmp(each, "--under") == 0 && strcmp(value, "helgrind") == 0)
      options.under = VALGRIND | HELGRIND;
    else if (is_known && strcmp(each, "--under") == 0 && strcmp(value, "drd") == 0) options.under = VALGRIND | DRD;
    else is_known = false;
    if (!is_known) {
      fprintf(stderr,
              "%s [--list] [--only PREFIX] [--scale N] [--seed N] [--under sanitizer|valgrind|helgrind|drd|qemu]\n",
              arguments[0]);
      exit(64);
    }
    i++;
  }
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  ctest_has_watchdog = (options.under & VALGRIND) == 0;
  ctest_is_alone = true;
  if (!options.lists) printf("seed %llu\n", (unsigned long long)options.seed);
  run_lock();
  run_waiting();
  run_job();
  run_node();
  run_task();
  run_failures();
  run_environment();
  run_mpsc();
  run_trampoline();
  run_unwind();
  run_loop();
  run_timer();
  run_clock();
  run_carry();
  run_fd();
  run_serial();
  run_limits();
  run_applies();
  run_groups();
  run_cancellations();
  run_virtual();
  run_pool();
  run_thread();
  run_dump();
  run_observe();
  run_shutdown();
  if (options.lists) return 0;
  csched_shutdown(CSCHED_STOP_RUN); // after which a tool that looks for leaks finds nothing, not even what is reachable
  printf("%d passed, %d failed\n", options.passed, options.failed);
  return options.failed > 0 || options.passed == 0;
}
