// Definitions for all headers: C and C++ bridge, compiler attributes, versions, time.
// Depends on: version.h. The only file with an #if for the compiler.
//
// These rules hold for all headers. No wait of the library is a cancellation point: a thread cancelled during a wait
// (pthread_cancel, deferred) continues to its next cancellation point. Asynchronous cancellation is not supported. A
// signal does not end a wait early. Functions that create (_create, _start) return ENOMEM or EAGAIN, and free their
// allocations. No other function fails for lack of memory, except a thread's first use of its trampoline, and the
// functions of task.h. In a child of fork, an object works if it needs only the thread that forked. Any other object is
// orphaned: using it stops the process with a message.
//
// Signal handlers may call these functions: csched_now, csched_target_submit with a job that is ready (csched_job_init)
// and the target of a loop or thread, csched_loop_end_run and csched_activation_end_run. These never wait for the
// interrupted thread, call no malloc, and preserve errno. That also holds while the program is observed (statistics.h,
// trace.h, watch.h, csched_events_begin): if the interrupted thread is just recording an event, that of the handler
// counts as missed. All other functions, such as those of timers, pools and queues, may take a lock. If the handler has
// interrupted the lock's owner, such a call stops the process with a message.
//
// A thread of the library that may run your code begins with the signal mask of the main thread, wherever it is
// started, and so do the processes that it spawns. So block a signal in main, before the first thread, if sigwait or a
// signalfd is to take it. The mask is the one that the main thread had when it last started a thread of the library;
// before that, the mask that it had when another thread first started one. That other thread's own mask counts where
// the main thread's is unknown: without /proc, or while it waits in ppoll or the like. A thread of the library that
// never runs your code blocks all signals except those of faults.
//
// Objects belong to one process: no lock, job or loop works in memory that processes share. Only 64-bit systems are
// supported.
//
// The system may refuse calls (seccomp), or a descriptor may be closed by other code. Then functions that create return
// the system's errno value. A later failure stops the process with a message that names the call, so no wait sleeps
// forever or spins. Loading the library takes three system calls (membarrier, prctl twice), and no file. The library
// stays loaded after dlclose.
#ifndef CSCHED_BASE_H
#define CSCHED_BASE_H

#include <CScheduler/version.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "CScheduler is for 64-bit systems only: its counts, addresses and times share words of 64 bits."
#elif defined(_WIN32)
#error                                                                                                                 \
    "CScheduler has no port to Windows: it needs POSIX threads, and what Linux has. Under WSL 2 the port to Linux works."
#elif !defined(__linux__) && !defined(__APPLE__)
#error "CScheduler has no port to this system: it runs on Linux."
#endif

// CSCHED_BEGIN_DECLS, CSCHED_END_DECLS: declarations between them are C, and exported even with -fvisibility=hidden.
#ifdef __cplusplus
#define CSCHED_BEGIN_DECLS                                                                                             \
  extern "C" {                                                                                                         \
  _Pragma("GCC visibility push(default)")
#define CSCHED_END_DECLS                                                                                               \
  _Pragma("GCC visibility pop")                                                                                        \
  }
#define CSCHED_THREAD_LOCAL                      thread_local
#define CSCHED_STATIC_ASSERT(condition, message) static_assert(condition, message)
#else
#define CSCHED_BEGIN_DECLS                       _Pragma("GCC visibility push(default)")
#define CSCHED_END_DECLS                         _Pragma("GCC visibility pop")
#define CSCHED_THREAD_LOCAL                      _Thread_local
#define CSCHED_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#endif

#define CSCHED_LIKELY(x)     __builtin_expect(!!(x), 1)
#define CSCHED_UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define CSCHED_NORETURN      __attribute__((noreturn))
#define CSCHED_NOINLINE      __attribute__((noinline))
#define CSCHED_ALWAYS_INLINE inline __attribute__((always_inline)) // for bodies as cheap as a call
#define CSCHED_UNUSED        __attribute__((unused))
#define CSCHED_HIDDEN        __attribute__((visibility("hidden"))) // for the library's own files: no PLT or GOT
#define CSCHED_INLINE        static inline __attribute__((unused))
#define CSCHED_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define CSCHED_CACHE_LINE    64
#define CSCHED_CACHE_ALIGNED __attribute__((aligned(CSCHED_CACHE_LINE)))
// For a local variable: `function` gets its address when the variable goes out of scope, also by an exception. Without
// -fexceptions: no effect.
#if defined(__EXCEPTIONS)
#define CSCHED_AT_END_OF_SCOPE(function) __attribute__((cleanup(function)))
#else
#define CSCHED_AT_END_OF_SCOPE(function)
#endif

// CSCHED_NEEDS_ABI() is in every inline function that depends on the layout of the library's structs or state words. It
// makes the program refer to the symbol csched_abi_1 (1 is CSCHED_VERSION_ABI). So a program neither links nor starts
// with a library of another layout (version.h). The cost is one pointer (8 bytes) in the whole program, and no
// instruction. A relocation without effect in the function makes the linker keep the pointer.
#define CSCHED_ABI_NAME       CSCHED_TEXT(CSCHED_ABI_SYMBOL)
#define CSCHED_ABI_IS_NEEDED_ CSCHED_ABI_NAME "_is_needed_" // the name of that pointer
// A program that loads the library by dlopen defines CSCHED_BY_DLOPEN, and must check by dlsym that the symbol exists.
#if defined(__ELF__) && !defined(CSCHED_BY_DLOPEN)
#define CSCHED_NEEDS_ABI()                                                                                             \
  __asm__ __inline__(".ifndef " CSCHED_ABI_IS_NEEDED_ "\n"                                                             \
                     ".pushsection .data.rel.ro." CSCHED_ABI_NAME ",\"awG\",%progbits," CSCHED_ABI_IS_NEEDED_          \
                     ",comdat\n"                                                                                       \
                     ".weak " CSCHED_ABI_IS_NEEDED_ "\n"                                                               \
                     ".hidden " CSCHED_ABI_IS_NEEDED_ "\n"                                                             \
                     ".balign 8\n" CSCHED_ABI_IS_NEEDED_ ":\n"                                                         \
                     ".quad " CSCHED_ABI_NAME "\n"                                                                     \
                     ".popsection\n"                                                                                   \
                     ".endif\n"                                                                                        \
                     ".reloc ., BFD_RELOC_NONE, " CSCHED_ABI_IS_NEEDED_)
#else
#define CSCHED_NEEDS_ABI() ((void)0)
#endif

// For a thread-local variable: one instruction accesses it, also in position-independent code.
#if defined(__linux__)
#define CSCHED_TLS_FAST __attribute__((tls_model("initial-exec")))
#else
#define CSCHED_TLS_FAST
#endif

// CSCHED_FAST_PATHS: 0 under ThreadSanitizer, else 1. At 0 csched_self_ (lock.h) stays 0, so lock operations call
// instrumented functions.
#if defined(__SANITIZE_THREAD__)
#define CSCHED_FAST_PATHS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CSCHED_FAST_PATHS 0
#endif
#endif
#ifndef CSCHED_FAST_PATHS
#define CSCHED_FAST_PATHS 1
#endif

// These macros report each lock operation to ThreadSanitizer, which then names locks and finds inconsistent lock
// orders. Between CSCHED_TSAN_WILL_LOCK and CSCHED_TSAN_LOCKED, and between the two macros for an unlock,
// ThreadSanitizer ignores the library's memory accesses.
// With CSCHED_TSAN_ANNOTATIONS 0 nothing is reported, and the accesses are checked.
#if !CSCHED_FAST_PATHS && !defined(CSCHED_TSAN_ANNOTATIONS)
#define CSCHED_TSAN_ANNOTATIONS 1
#endif
#if !CSCHED_FAST_PATHS && CSCHED_TSAN_ANNOTATIONS
CSCHED_BEGIN_DECLS
void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
void __tsan_mutex_post_unlock(void *lock, unsigned flags);
CSCHED_END_DECLS
// ThreadSanitizer's flags, combined by or: 1: the lock needs no construction; 16: a try-lock; 32: that try-lock failed.
#define CSCHED_TSAN_WILL_LOCK(lock, may_fail) __tsan_mutex_pre_lock((lock), (may_fail) ? 1 | 16 : 1)
#define CSCHED_TSAN_LOCKED(lock, may_fail, taken)                                                                      \
  __tsan_mutex_post_lock((lock), (taken) ? ((may_fail) ? 1 | 16 : 1) : 1 | 16 | 32, 0)
#define CSCHED_TSAN_WILL_UNLOCK(lock) ((void)__tsan_mutex_pre_unlock((lock), 1))
#define CSCHED_TSAN_UNLOCKED(lock)    __tsan_mutex_post_unlock((lock), 1)
#else
#define CSCHED_TSAN_WILL_LOCK(lock, may_fail)     ((void)(lock), (void)(may_fail))
#define CSCHED_TSAN_LOCKED(lock, may_fail, taken) ((void)(lock), (void)(may_fail), (void)(taken))
#define CSCHED_TSAN_WILL_UNLOCK(lock)             ((void)(lock))
#define CSCHED_TSAN_UNLOCKED(lock)                ((void)(lock))
#endif

// For AddressSanitizer: CSCHED_POISON marks memory that must not be accessed, and CSCHED_UNPOISON removes the mark.
#if defined(__SANITIZE_ADDRESS__)
#define CSCHED_ADDRESSES_ARE_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CSCHED_ADDRESSES_ARE_CHECKED 1
#endif
#endif
#if defined(CSCHED_ADDRESSES_ARE_CHECKED)
CSCHED_BEGIN_DECLS
void __asan_poison_memory_region(const volatile void *memory, size_t size);
void __asan_unpoison_memory_region(const volatile void *memory, size_t size);
CSCHED_END_DECLS
#define CSCHED_POISON(memory, size)   __asan_poison_memory_region((memory), (size))
#define CSCHED_UNPOISON(memory, size) __asan_unpoison_memory_region((memory), (size))
#else
#define CSCHED_POISON(memory, size)   ((void)(memory))
#define CSCHED_UNPOISON(memory, size) ((void)(memory))
#endif

// The memory of tasks (task.h) is divided into units of this many bytes. A model checker defines a smaller number.
#ifndef CSCHED_TASK_UNIT
#define CSCHED_TASK_UNIT 8192
#endif

// How many threads, and how many loops, the signal handler of csched_dump_on_signal can list (dump.h). A model checker
// defines a smaller number.
#ifndef CSCHED_DUMP_ROOM
#define CSCHED_DUMP_ROOM 256
#endif

// How many waiting submissions observers can know in each of 64 hash tables (statistics.h), and an eighth of the
// targets: a power of 2. A model checker defines a smaller number.
#ifndef CSCHED_OBSERVED_ROOM
#define CSCHED_OBSERVED_ROOM 1024
#endif

// The size of each thread's buffer of trace events (trace.h), in events: a power of 2. A model checker defines a
// smaller number.
#ifndef CSCHED_TRACE_EVENTS
#define CSCHED_TRACE_EVENTS 16384
#endif

// For each step of a spin loop: tells the processor that the thread only waits.
#if defined(__x86_64__) || defined(__i386__)
#define CSCHED_CPU_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__) || defined(__arm__)
#define CSCHED_CPU_RELAX() __asm__ __volatile__("isb" ::: "memory")
#else
#define CSCHED_CPU_RELAX() __asm__ __volatile__("" ::: "memory")
#endif

// Whether the 32-bit word at `p` is not zero, by one relaxed read. `load` is an atomic load of the same word, for other
// compilers and processors. The assembly compares the word in memory, and jumps: two instructions. For `load`,
// compilers emit three.
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
#define CSCHED_IS_SET(p, load)                                                                                         \
  __extension__({                                                                                                      \
    int is_set_;                                                                                                       \
    __asm__ __volatile__("cmpl $0, %1" : "=@ccne"(is_set_) : "m"(*(p)));                                               \
    is_set_;                                                                                                           \
  })
#else
#define CSCHED_IS_SET(p, load) ((load) != 0)
#endif

// Stores the stack pointer, the lowest address of the calling function's stack frame, in `word`. On other processors:
// another address in it.
#if defined(__x86_64__)
#define CSCHED_READ_STACK_POINTER(word) __asm__ __volatile__("mov %%rsp, %0" : "=r"(word))
#elif defined(__aarch64__)
#define CSCHED_READ_STACK_POINTER(word) __asm__ __volatile__("mov %0, sp" : "=r"(word))
#else
#define CSCHED_READ_STACK_POINTER(word) ((word) = (uintptr_t)__builtin_frame_address(0))
#endif

CSCHED_BEGIN_DECLS

/// Returns: CSCHED_VERSION of the loaded library. It may be later than CSCHED_VERSION of the headers that compiled the
/// program. Thread: any.
uint32_t csched_version(void);

/// An instant on a clock (csched_now's, unless the function says otherwise), or a span of time, in nanoseconds. Sums
/// saturate: see csched_time_after.
typedef uint64_t csched_time;

/// A deadline that is never reached.
#define CSCHED_FOREVER UINT64_MAX

/// The clock that a csched_time belongs to. Times of different clocks cannot be compared.
typedef enum csched_clock {
  CSCHED_CLOCK_MONOTONIC, ///< csched_now's clock: arbitrary start; stops during suspension; cannot be set
  CSCHED_CLOCK_BOOT,      ///< as the monotonic clock, but continues during suspension
  CSCHED_CLOCK_WALL,      ///< since 1970 (UTC, no leap seconds); can be set forwards and back
} csched_clock;

/// Does: reads the monotonic clock. Returns: nanoseconds since an arbitrary start. Thread: any.
csched_time csched_now(void);

/// Returns: `start + span` in nanoseconds, or CSCHED_FOREVER if that overflows. A negative span counts as zero. Thread:
/// any.
CSCHED_INLINE csched_time csched_time_after(csched_time start, int64_t span) {
  if (span <= 0) return start;
  csched_time end = start + (csched_time)span;
  return end < start ? CSCHED_FOREVER : end;
}

CSCHED_END_DECLS

#endif
