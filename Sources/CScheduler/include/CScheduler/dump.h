// Writes a list of all threads, loops, pools and queues, with running jobs, and which thread waits for what.
// Depends on: target.h.
//
// A dump is text for people, one line per object; its format may change with any version. The program continues during
// the dump, so two lines may show two instants. Each count shows one instant, or says "about". An object's address is
// that of its target (csched_loop_target …), the same in all lines. Pending jobs of a queue are counted up to 1000. The
// dump reads memory by a system call (process_vm_readv). Where that is forbidden, it does not show pending jobs,
// running jobs and sleepers.
#ifndef CSCHED_DUMP_H
#define CSCHED_DUMP_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Does: writes to `fd`: threads that have run jobs, with their current jobs, runs and syncs, innermost first, and
/// where a thread waits, for what and since when; loops, pools, virtual times, queues, limits; locks that a thread
/// sleeps for, with their owners; threads that sleep for a condition, semaphore, latch, group or rwlock. A dump uses
/// constant memory. A thread that creates a scheduler or forks meanwhile waits for one part of the dump. Returns: 0, or
/// the errno value of the first write that failed. Thread: any, but not in a signal handler (see
/// csched_dump_on_signal). Concurrent calls run one after the other. It blocks as `fd` does.
int csched_dump(int fd);

/// Does: writes the line of csched_dump about `target` into `text`, cut at `size` bytes including the closing zero. The
/// line contains the target's kind and state, the numbers of pending and delayed jobs, when the next timer is due, and
/// which threads run its jobs since when. Jobs delayed on another clock than the target's own are not counted. It reads
/// at most 100 000 waiting timers; if there are more, it says "at least". Returns: the length of what was written.
/// Requires: `size` is not 0; the target stays valid. Thread: as csched_dump.
size_t csched_target_describe(const csched_target *target, char *text, size_t size);

/// Does: writes to `fd` the most recent runs of each thread, the newest at the end: each job's run function, target and
/// context. Equal runs in a row are one line. It writes up to 10 000 runs in total. Recording is always on, in 240 KB
/// per thread. When the library stops the process (a panic), it also writes this to standard error, after its message.
/// The start time is known for every 64th run, and for the first after a sleep. Returns: 0, ENOMEM, or the errno value
/// of the first write that failed. Thread: any.
int csched_recorder_write(int fd);

/// Does: from csched_events_begin to csched_events_end, csched_recorder_write and a panic also write recent events:
/// submissions, starts and ends of runs, cancels, drops, wakes, steals and waits, with their times. The library records
/// the most recent 1024 events of each of 64 threads, and writes 2000 at a time. Recording them costs about 200 ns for
/// each job, and 90 KB for each thread. With SCHEDULER_RECORD=1 in its environment a program records events from the
/// start. Returns: 0, or ENOMEM. Thread: any.
int csched_events_begin(void);
void csched_events_end(void);

/// Does: makes each `signal` write a dump to `fd`. The handler writes a table of the threads and loops at once, even if
/// the library's locks are held. A thread named "csched-dump" writes the other lines within a second. It does not block
/// the signal, so that other threads may. The signal's previous handler is not called. A later call replaces the signal
/// and `fd`. With `signal` 0 this restores the previous handler, and ends the thread. Returns: 0, or an errno value:
/// EINVAL if the signal cannot be handled, EAGAIN when there is no thread. Requires: `fd` stays open. A child of fork
/// writes only the table, until it calls this function. Thread: any, one at a time.
int csched_dump_on_signal(int signal, int fd);

CSCHED_END_DECLS

#endif
