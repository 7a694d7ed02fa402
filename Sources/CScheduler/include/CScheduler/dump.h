// Asking what there is: every thread, loop, pool and queue, what runs on it, and who waits for whom.
// Depends on: target.h.
//
// A dump is text for people, a line for each thing; its form may change with any version. All goes on while it is written, so two lines may be
// of two instants; each count is of one, or says "about". Addresses are those of targets (csched_loop_target …), so one line leads to the next.
// What is pending in a queue is counted as far as 1000. It looks at memory by a system call (process_vm_readv); where that is forbidden, it tells
// less: nothing of what is pending, runs, or sleeps.
#ifndef CSCHED_DUMP_H
#define CSCHED_DUMP_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Does: writes to `fd`: threads that have run something of ours, what they are in the middle of, innermost first, and in which function they wait,
/// for what, since when; loops, pools, virtual times, queues, limits; locks that somebody sleeps for, with their owners; threads that sleep for
/// a condition, semaphore, latch, group or rwlock. It takes a constant amount of memory, whatever there is; schedulers are made and forks wait for
/// a part of it at a time.
/// Returns: 0, or the errno value of the first write that failed. Thread: any, not in a signal handler: see csched_dump_on_signal. Two
/// at a time come one after the other. It blocks as `fd` does.
int csched_dump(int fd);

/// Does: writes one line about `target`, as csched_dump does, into `text`, cut at `size` bytes with the closing zero: what it is, its state, how much
/// is pending and delayed and when the next is due, and which threads are inside of it, since when. What is delayed on another clock than the target's own is not
/// counted; of more than 100 000 timers that wait together it looks at as many, and says "at least". Returns: the length of what was written. Requires: `size` is not 0; the target stays
/// valid. Thread: as csched_dump.
size_t csched_target_describe(const csched_target *target, char *text, size_t size);

/// Does: writes to `fd` what each thread has run last, the newest at the end: the function that a job's type runs, its target and its context;
/// runs in a row that are the same are one line. All together up to 10 000 runs. It is recorded always, a thread's in 240 KB of its own; and it is
/// written to standard error behind a message that stops the process. When a run began is known for each 64th, and for the first after a sleep.
/// Returns: 0, ENOMEM, or the errno value of the first write that failed. Thread: any.
int csched_recorder_write(int fd);

/// Does: has each `signal` write a dump to `fd` from now on: inside of the handler a table of the threads and loops, at once, whatever is locked; and the rest
/// from a thread of its own, named "csched-dump", within a second. What handled the signal before is called no more; some thread must not
/// block the signal. A later call replaces the
/// signal and `fd`; with `signal` 0 it ends that: the handler from before is back, and the thread is gone.
/// Returns: 0, or an errno value: EINVAL for what is no signal that can be handled, EAGAIN when there is no thread. Requires: `fd` stays
/// open. In a child of fork the table only is written, until it is called again there. Thread: any, one at a time.
int csched_dump_on_signal(int signal, int fd);

CSCHED_END_DECLS

#endif
