// The kernels in C. Each returns nanoseconds for the whole of its work.
#ifndef CBENCH_H
#define CBENCH_H

#include <CScheduler/CScheduler.h>

// Limits of the machine.
double cbench_cas_store(long count);               // L0: one compare-and-exchange and one plain release store
double cbench_cas_cas(long count);                 // L0s: the symmetric pair
double cbench_line_transfer(long count);           // L1: one way, between two pinned threads; as seen on a round trip
double cbench_shared_add(int threads, long count); // L2: fetch_add on one line, `count` in all
double cbench_futex_round_trip(long count);        // L3
double cbench_epoll_round_trip(long count);        // L4: an eventfd each way, on one processor
double cbench_list(long count);                    // L6: into a list of a million at random, and out again
double cbench_indirect_call(long count);           // L7
double cbench_malloc_free(long count);             // L7
double cbench_hot_cas(long count);                 // a bare compare-and-exchange on a hot line

/// L5: how late each of `count` absolute sleeps of `span` ends, with a slack of 1 ns.
void cbench_sleep_lateness(long count, csched_time span, csched_time *late);
double cbench_threads(int threads, long n); // L8: each computes fib(n)

/// Keeps the calling thread, and those that it makes, on one processor, where that is allowed.
void cbench_pin(int processor);

/// The next of a sequence that looks random (xorshift64*).
static inline uint64_t cbench_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 2685821657736338717u >> 16;
}

// Locks.
typedef enum cbench_lock { CBENCH_OURS, CBENCH_PTHREAD, CBENCH_ADAPTIVE } cbench_lock;
double cbench_lock_alone(cbench_lock lock, long count);

/// `count` sections in all, by `threads` threads: `inside` nanoseconds of work in each, `outside` between two.
double cbench_lock_contended(cbench_lock lock, int threads, long count, int inside, int outside);

/// Works for about that many nanoseconds.
void cbench_work(int nanoseconds);

// The trampoline.
double cbench_trampoline_nested(long count);
double cbench_trampoline_chain(long count);

// Run queues: ours, and an exchange-linked one.
typedef enum cbench_queue { CBENCH_TREIBER, CBENCH_EXCHANGE } cbench_queue;
double cbench_queue_push(cbench_queue queue, long count);
double cbench_queue_many(cbench_queue queue, int producers, long count);

// Timers: `waiting` of them are pending, for good; one number for each process.
double cbench_timer(long waiting, long count); // one more goes in, and out
double cbench_timer_replaced(long waiting,
                             long count); // one of the pending, at random, goes out, and in for another time

// The pool. `batch` 1: one by one.
double cbench_pool_submit(long batch, long count);

enum { CBENCH_FIB_LEAF = 14, CBENCH_SUM_LEAF = 512 }; // about a microsecond each
long cbench_fib(long n);
long cbench_fib_forked(long n);
long cbench_sum(long from, long to);
long cbench_sum_forked(long to);

double cbench_serial_sync(long count);

// Two loops, each driven by a host that waits for its descriptor.
double cbench_hosted_round_trip(long count);

// Other libraries' loops, if they are installed: a timer's insertion and cancellation on its loop's own thread, with so many pending in
// this process; a round trip between two loops.
bool cbench_has_uv(void);
double cbench_uv_timer(long waiting, long count);
double cbench_uv_round_trip(long count);
bool cbench_has_glib(void);
double cbench_glib_timer(long waiting, long count);

// How often the process has called the kernel's futex, through the C library.
long cbench_futex_calls(void);

#endif
