// Counts the allocations of each thread: the tests' executable interposes the C library's functions.
// Depends on: glibc. A target of its own, because valgrind, which runs the C tests, interposes the same functions.
#ifndef CTEST_ALLOCATIONS_H
#define CTEST_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/// Whether anything is counted: not under a sanitizer, nor without glibc.
bool ctest_counts_allocations(void);
/// How many blocks the calling thread has allocated so far, or moved by realloc.
uint64_t ctest_allocations(void);
/// How many blocks the calling thread has allocated and not freed. Blocks that other threads free still count.
int64_t ctest_allocations_left(void);
/// How many bytes are allocated now, by all threads; 0 where that is not known.
uint64_t ctest_bytes_in_use(void);
/// Has Swift Testing keep nothing of the errors that are thrown from now on: it keeps a backtrace of each.
void ctest_keep_no_thrown_errors(void);
/// Makes the calling thread's allocation of that number, counted from the next one on, fail; 0: none. Returns whether
/// an earlier request is still pending.
bool ctest_fail_allocation(int64_t number);

#endif
