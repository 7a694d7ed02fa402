// C support for the tests: the system's figures about threads and memory, and a main loop's host.
// Depends on: CScheduler.
#ifndef CTEST_SUPPORT_H
#define CTEST_SUPPORT_H

#include <CScheduler/CScheduler.h>

CSCHED_BEGIN_DECLS

/// The message of a failed check; NULL: none has failed.
typedef const char *ctest_finding;

/// Records the message of a failed check in this process. The first message is kept.
void ctest_fail(const char *text);
/// Returns: the first finding of this process; NULL: none.
ctest_finding ctest_found(void);
void ctest_forget(void);

/// Does: forks; the child calls `body(context)`, with an alarm against hangs, and ends. Returns: NULL when the child
/// found nothing and ended with `status`, or, where `says` is not NULL, was stopped with a message that contains it;
/// else a description, valid until the next call.
ctest_finding ctest_in_child(void (*body)(void *), void *context, int status, const char *says);
/// Ends the calling process, a child, and reports its finding to the parent.
void ctest_end_child(void) CSCHED_NORETURN;

typedef enum ctest_sanitizer_kind {
  CTEST_NO_SANITIZER,
  CTEST_ADDRESS_SANITIZER,
  CTEST_THREAD_SANITIZER,
  CTEST_MEMORY_SANITIZER,
} ctest_sanitizer_kind;
ctest_sanitizer_kind ctest_sanitizer(void);
/// Ends the process well, but for a leak, which is to be found at its end.
void ctest_leak_and_exit(void);

/// Runs `body(context)` on a thread of its own. Returns at once.
void ctest_run_on_thread(void (*body)(void *), void *context);

// MARK: the system's figures

/// The calling thread's number.
uint32_t ctest_thread_id(void);

// Has a thread of its own run the main loop from now on, as a host would; the main thread of a test process belongs to
// the test runner.
void ctest_host_main_loop(void);
// Makes the calling thread the main loop's, in a process in which no other thread is.
void ctest_take_main_loop(void);
// Whether the main thread of this test process runs the main loop, because it was started with SCHEDULER_TEST_MAIN set.
bool ctest_is_main_process(void);
/// Writes the calling thread's name, as the system's tools show it, into `name`, which has room for 64 bytes.
void ctest_thread_name(char *name);
/// How many threads the process has, and how many of them bear exactly `name`; without threads that have begun to exit.
size_t ctest_thread_count(void);
size_t ctest_threads_named(const char *name);
/// The signals that the thread of this name blocks, and its nice value. Returns, or writes, nothing when there is none.
bool ctest_thread_mask(const char *name, unsigned long long *mask);
int ctest_nice_of_thread(const char *name);
/// The number of a thread that bears exactly `name`; 0 when there is none.
uint32_t ctest_thread_named_so(const char *name);
/// Context switches of a thread of this process, voluntary and not; -1 when it is gone.
int64_t ctest_thread_switches(uint32_t thread);
int64_t ctest_thread_voluntary_switches(uint32_t thread);
/// Whether a thread of this process sleeps, and does not wait for a processor.
bool ctest_thread_sleeps(uint32_t thread);
/// As ctest_thread_sleeps, for all threads but the caller.
bool ctest_other_threads_sleep(void);
/// An address on the caller's stack. That of a variable may be elsewhere with AddressSanitizer.
uintptr_t ctest_stack_address(void);
/// Processor time that this process, its children and theirs have used so far, in nanoseconds. Less than before when
/// one has ended.
int64_t ctest_family_processor_time(void);
/// Processor time that a thread has used, in nanoseconds; -1 when it is gone.
int64_t ctest_thread_processor_time(uint32_t thread);
/// How long a thread has been ready to run, and had no processor, in nanoseconds; 0 where the system does not count it.
int64_t ctest_thread_run_delay(uint32_t thread);
/// Resident memory of the process, in bytes.
int64_t ctest_resident_bytes(void);
/// Ends the calling thread in the middle of its work. In C, whose compiler notifies AddressSanitizer that the marked
/// parts of the stack are unwound.
void ctest_end_thread(void) CSCHED_NORETURN;

/// Does: has the system refuse new threads to this process, or allow them again. The first call gives up root's rights,
/// which no limit holds for.
/// Returns: whether that could be done.
bool ctest_forbid_threads(bool forbids);

/// Calls `body` with the calling thread (and those that it starts) on one processor, and restores the earlier set of
/// processors.
void ctest_on_one_processor(void (*body)(void *), void *context);

CSCHED_END_DECLS

#endif
