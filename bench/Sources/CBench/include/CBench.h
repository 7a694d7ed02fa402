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
double cbench_indirect_call(long count);           // L7
double cbench_malloc_free(long count);             // L7
double cbench_hot_cas(long count);                 // a bare compare-and-exchange on a hot line

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

#endif
