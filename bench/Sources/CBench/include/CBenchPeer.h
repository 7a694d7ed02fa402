// What a contender is measured by: tables of functions, so that all contenders of a row go through one harness, which
// makes the threads, places them and takes the time. Those of this package are in CBench; a library in Peers/ gives its
// own by peer_open.
#ifndef CBENCH_PEER_H
#define CBENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// One thread's part in contention for a lock. The loop is the contender's, so that its lock is inlined as in a user's
/// program.
typedef struct peer_task {
  long count;          ///< sections to do, when `over` is NULL
  const int *over;     ///< not NULL: until this is set
  int looks;           ///< whether to look at each wait
  int inside, outside; ///< nanoseconds of work in each section, and between two
  void (*work)(int nanoseconds);
  uint64_t (*now)(void);
  volatile long *guarded; ///< how many sections there have been; written inside of the lock
  long done;              ///< how many were this thread's
  uint64_t longest;       ///< its longest wait
  long passed;            ///< the most sections of other threads during one of its waits
} peer_task;

typedef struct peer_lock {
  const char *name;
  void (*loop)(peer_task *task);
} peer_lock;

/// A queue with one consumer. make, consume and destroy are called on the consumer's thread, produce once on that of
/// each producer.
typedef struct peer_queue {
  const char *name;
  void *(*make)(int producers, long each);    ///< makes and touches all memory that the items need
  void (*produce)(void *queue, int producer); ///< appends `each` items
  void (*consume)(void *queue);               ///< takes `producers * each`
  void (*destroy)(void *queue);
} peer_queue;

/// A pool of threads, one for each processor. A function that is NULL: it has none.
typedef struct peer_pool {
  const char *name;
  void (*prepare)(long count); ///< not timed; may be NULL
  void (*run)(
      long count); ///< submits so many jobs from outside, each of which counts itself; returns when all have run
  long (*fib)(int n, int leaf); ///< forks down to `leaf`, and from there calls the harness's `fib`
  void (*spawn)(void (*work)(void *context), void *context); ///< submits one call from outside
} peer_pool;

/// Timers that never fire. Each operation has its own span, `milliseconds` from when they were made, in a table.
typedef struct peer_timers {
  const char *name;
  long most; ///< how many may be pending before each operation takes milliseconds; 0: as many as one likes
  void *(*make)(long pending, const uint32_t *milliseconds);
  void (*newest)(void *timers, long count, const uint32_t *milliseconds); ///< one more goes in, and out
  /// The pending one number `which` goes out, and in again. May be NULL.
  void (*replaced)(void *timers, long count, const uint32_t *which, const uint32_t *milliseconds);
} peer_timers;
enum { PEER_SPANS = 1 << 20 }; ///< no more are pending

/// A pair of threads: the caller's, and one that `open` makes, which so gets the caller's processors.
typedef struct peer_trip {
  const char *name;
  void *(*open)(void);
  void (*trip)(void *pair); ///< there and back; on the thread that opened
  void (*close)(void *pair);
} peer_trip;

/// What the harness lends.
typedef struct peer_harness {
  void (*work)(int nanoseconds);
  uint64_t (*now)(void);
  long (*fib)(long n);
  int processors;
} peer_harness;

typedef struct peer_library {
  const peer_lock *locks;
  const peer_queue *queues, *sleeping_queues;
  const peer_pool *pools;
  const peer_timers *timers;
  const peer_trip *trips, *hosted_trips; ///< hosted: each side waits in a poller, as a loop for descriptors does
} peer_library;                          // each list ends with an entry without a name; NULL: none

/// What a library in Peers/ exports.
typedef const peer_library *(*peer_open_function)(const peer_harness *harness);

#endif
