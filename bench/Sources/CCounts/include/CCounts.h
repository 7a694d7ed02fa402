// Stands before the C library's functions and counts their calls. Only for processes that take no time: the benchmark
// preloads it there.
#ifndef CCOUNTS_H
#define CCOUNTS_H

long ccounts_futexes(void); // calls of the kernel's futex through the C library's syscall(), as ours and Dispatch's are
long ccounts_allocations(void); // of malloc, calloc, realloc and their aligned kin

#endif
