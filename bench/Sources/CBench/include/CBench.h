// The kernels in C. Each returns nanoseconds for the whole of its work, unless it says otherwise.
#ifndef CBENCH_H
#define CBENCH_H

#include <CBenchPeer.h>
#include <CScheduler/CScheduler.h>

static inline csched_time cbench_now(void) { return csched_now(); }

// MARK: threads

/// Where two threads are: as the system likes, each on a processor of its own, or both on one.
typedef enum cbench_placement { CBENCH_FREE, CBENCH_APART, CBENCH_TOGETHER } cbench_placement;

typedef struct cbench_crew cbench_crew;

/// Does: runs `body(context, crew, index)` on so many threads, index 0 up. Each calls cbench_crew_start once, when it
/// is ready.
/// Returns: the nanoseconds from when all had until the last one's cbench_crew_end, or its return.
double cbench_crew_run(int threads, cbench_placement placement, void (*body)(void *, cbench_crew *, int),
                       void *context);
csched_time cbench_crew_start(cbench_crew *crew, int index);
void cbench_crew_end(cbench_crew *crew, int index);
void cbench_crew_meet(cbench_crew *crew); // waits until all are there

/// Keeps the calling thread on the processor number `index` of those that the process has, where that is allowed; -1:
/// on any again.
void cbench_pin(int index);

/// Has the library waited once on a thread with all processors: what it finds out about the machine then is the
/// process's, not a pinned thread's. To be called before the first cbench_pin; not in a process that is to have one
/// thread.
void cbench_warm(void);

int cbench_processors(void);

/// Works for about that many nanoseconds.
void cbench_work(int nanoseconds);

/// Has the C library keep freed memory: or a sample would pay for page faults because the one before it gave memory
/// back.
void cbench_keep_memory(void);

/// The next of a sequence that looks random (xorshift64*).
static inline uint64_t cbench_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 2685821657736338717u >> 16;
}

// MARK: limits of the machine

double cbench_cas_store(long count);     // L0: one compare-and-exchange and one plain release store
double cbench_cas_cas(long count);       // L0s: the symmetric pair
double cbench_line_transfer(long count); // L1: one way, between two pinned threads; as seen on a round trip
double cbench_shared_add(int threads, cbench_placement, long count); // L2: fetch_add on one line, `count` in all
double cbench_futex_round_trip(cbench_placement, long count);        // L3
double cbench_epoll_round_trip(long count);                          // L4: an eventfd each way, on one processor
double cbench_list(long count);          // L6: into a list of a million at random, and out again
double cbench_indirect_call(long count); // L7
double cbench_malloc_free(long count);   // L7
double cbench_hot_cas(long count);       // a bare compare-and-exchange on a hot line

/// L5: how late each of `count` absolute sleeps of `span` ends, with a slack of 1 ns.
void cbench_sleep_lateness(long count, csched_time span, csched_time *late);
double cbench_threads(int threads, long n); // L8: each computes fib(n)

// MARK: contenders, by kind and number

typedef enum cbench_kind {
  CBENCH_LOCKS,
  CBENCH_QUEUES,
  CBENCH_SLEEPING_QUEUES, ///< whose consumer sleeps when there is nothing
  CBENCH_POOLS,
  CBENCH_TIMERS,
  CBENCH_TRIPS,
  CBENCH_HOSTED_TRIPS,
  CBENCH_KINDS,
} cbench_kind;

/// Does: adds what the system's libraries have, where they are installed. Returns: NULL, or the name of what is
/// missing, number `index`.
void cbench_load_system(void);
const char *cbench_missing(int index);

/// Does: adds what the library at `path` has. Returns: NULL, or why it has not.
const char *cbench_load(const char *path);

int cbench_count(cbench_kind kind);
const char *cbench_name(cbench_kind kind, int index);

/// Returns: whether somebody stands before the C library's malloc or syscall, as a counter or another allocator does.
bool cbench_is_interposed(void);

// MARK: locks

double cbench_lock_alone(int lock, long count);

typedef struct cbench_waits {
  double section; ///< nanoseconds from one to the next
  double longest; ///< nanoseconds of the longest wait; looked for only when asked to, because that takes time
  double passed;  ///< the most sections of others during a wait; the same
} cbench_waits;

/// Threads that contend for a lock for so long: `inside` nanoseconds of work in each section, `outside` between two.
cbench_waits cbench_lock_contended(int lock, int threads, cbench_placement, double seconds, int inside, int outside,
                                   bool looks);

// MARK: what is waited for: ours, or the C library's

double cbench_rlock_alone(bool ours, long count);
double cbench_rwlock_alone(bool ours, bool writes, long count);
/// Each thread takes it `count` times, every sixteenth time for writing, with a microsecond of work inside.
double cbench_rwlock_shared(bool ours, int threads, long count);
double cbench_semaphore_alone(bool ours, long count);
double cbench_semaphore_trips(bool ours, cbench_placement, long count);
double cbench_cond_trips(bool ours, cbench_placement, long count);
double cbench_cond_broadcasts(bool ours, int waiters, long count);

// MARK: queues

double cbench_trampoline_nested(long count);
double cbench_trampoline_chain(long count);

double cbench_queue_push(int queue, long count);                                               // the pops are not timed
double cbench_queue_many(cbench_kind, int queue, int producers, cbench_placement, long count); // until all are taken

/// Submissions to a thread that is busy with something else, until they are done, or until all have run.
double cbench_submit_ours(bool until_run, long count);
double cbench_submit_dispatch(bool until_run, long count);

/// `count` round trips, each into `took`; `gap` microseconds of sleep before each, 0: none.
void cbench_trips(cbench_kind, int trip, cbench_placement, int gap, long count, uint64_t *took);

// MARK: timers: `pending` of them wait, for good; one number and one contender for each process

long cbench_timers_most(int timers);
bool cbench_timers_can_replace(int timers);
double cbench_timers_newest(int timers, long pending, long count);
double cbench_timers_replaced(int timers, long pending, long count);

// MARK: the pool and the queues on it

bool cbench_pool_can_run(int pool);
bool cbench_pool_can_fork(int pool);
double cbench_pool_run(int pool, long count);
double cbench_pool_fib(int pool, int n, int leaf); // with warm workers
double cbench_pool_batch(long batch, long count);  // ours

/// `count` calls, of which at most `backlog` are outstanding, until all have run. To a thread, ours or a serial queue
/// of Dispatch's; to a pool.
double cbench_thread_steady(bool ours, long backlog, long count);
bool cbench_pool_can_spawn(int pool);
double cbench_pool_steady(int pool, long backlog, long count);

enum { CBENCH_FIB_LEAF = 14, CBENCH_SUM_LEAF = 512 }; // about a microsecond each
long cbench_fib(long n);
long cbench_sum(long from, long to);
long cbench_sum_forked(long to);

double cbench_serial_sync(long count);
double cbench_serial_chain(long count);
double cbench_dispatch_sync(long count);
double cbench_dispatch_chain(long count);
double cbench_dispatch_nested(long count); // a serial queue that its own work submits to
double cbench_dispatch_self_chain(long count);

// MARK: counts, in a process where BenchCounts is preloaded; -1 elsewhere

long cbench_counted_allocations(void);
long cbench_counted_futexes(void);

// MARK: memory

/// So many jobs or timers wait, for good: memory of the caller's included.
void cbench_wait_jobs(long count);
void cbench_dispatch_wait_jobs(long count);
void cbench_wait_timers(int timers, long count);

#endif
