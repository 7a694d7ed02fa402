// A checker for the C core, and for Swift over it: their own source runs on simulated threads, memory, futexes and
// clock.
//
// One thread runs at a time; which one is chosen anew at each atomic operation and each call of the platform. A load
// may return any older value that the views of C11's acquire and release allow. A run in which no thread can go on, and
// not all have ended, is a deadlock: a lost wake is found, not waited for. A run's choices come from a seed, or from a
// trail.
#ifndef MODEL_H
#define MODEL_H

#include <CScheduler/CScheduler.h>

/// Starts a thread of the check. From the body of a check only.
void model_spawn(void (*body)(void *), void *context);

/// As model_spawn, but the thread stops for good at one of its steps, and goes on only when all others have ended.
void model_spawn_frozen(void (*body)(void *), void *context);

/// Waits until the descriptor of a loop is readable, as poll(2) would; it may return early.
void model_poll(int fd);
/// How many wakes the descriptor has had since the loop read them.
int model_wakes(int fd);

/// Ends the calling thread here, as pthread_exit would: destructors of thread-specific data run.
void model_exit(void) CSCHED_NORETURN;

/// Sets the wall clock, or suspends the system, as seen by the boot clock: `by` more, or less, than before.
void model_set_clock(csched_clock clock, int64_t by);
/// The most that this clock has read.
csched_time model_most(csched_clock clock);

/// Gives thread `to`, which has used no lock yet, the number of thread `of`, which has ended, right after the next
/// check whether a thread has ended: as the system does with numbers. model_has_number_of: whether the calling thread
/// has got it.
void model_give_number_after_look(int to, int of);
bool model_has_number_of(int of);

/// Does: has the system give that many chunks of memory for tasks of one size each, 1 or 2, in this run; else there is
/// one. Thread: the check's own.
void model_have_chunks(unsigned count);

/// From now on the system has no thread for the core, or has them again.
void model_refuse_threads(bool refuses);

/// A panic whose text contains `part` is what the check wants: it ends its thread, and is counted.
void model_expect_panic(const char *part);
int model_panics(void);
void model_one_panic(void); // an inspection: there was one
/// This run may end with memory that is not freed: a panic leaves the frames that own it.
void model_allow_leaks(void);

/// Whether `address` was in memory that this run has freed: of a run all is kept until its end.
bool model_is_freed(const void *address);

/// Ends the run with a message, the way to replay it and the log, unless `condition` holds.
#define model_assert(condition) model_assert_(condition, #condition, __FILE__, __LINE__)
void model_assert_(bool condition, const char *text, const char *file, int line);

/// A variable without atomic access. Any two accesses, one of them a write, that no happens-before orders, end the run.
typedef struct model_cell {
  long value;
  int writer;
  unsigned write_epoch;
  unsigned read_epochs[8];
} model_cell;
long model_read(model_cell *cell);
void model_write(model_cell *cell, long value);

/// Whether memory is strong in this process: each load reads the newest value (--memory strong).
extern bool model_memory_is_strong;

/// A check, as a row of a table: {name, prepare, inspect, THREADS({body}, {body, with}), panic}. What comes behind
/// `inspect` may be left out.
typedef struct model_check {
  const char *name;
  void (*prepare)(void); // runs first, alone: resets the state; may spawn threads of its own
  void (*inspect)(void); // runs when all threads have ended
  struct {
    void (*body)(void *);
    intptr_t with;   // the body's argument
  } threads[5];      // spawned in this order when `prepare` has returned
  const char *panic; // part of the text of the panic that the check wants, as for model_expect_panic
} model_check;
#define THREADS(...)                                                                                                   \
  { __VA_ARGS__ }

extern const model_check *const model_suites[]; // each ends with a check without a name; NULL ends the list

#endif
