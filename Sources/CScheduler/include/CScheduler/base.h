// What every header shares: the language bridge, the compiler's spellings, time. More than 120 lines: what holds for all is said here only.
// Depends on: version.h. The only file with an #if for the compiler.
//
// For all of them: no wait is a point of cancellation, so a thread that is cancelled in one (pthread_cancel, deferred) goes on to a point
// of its own; asynchronous cancellation is not supported. No wait ends early by a signal. What creates (_create, _start) answers
// ENOMEM or EAGAIN, and has given back what it took; the rest cannot fail for memory, but for a thread's first use of its trampoline, and for tasks, which say so.
// fork: what needs only the forking thread works in the child; what was orphaned stops the process with a message.
//
// Signal handlers may call: csched_now, csched_target_submit with a job that is ready (csched_job_init) and the target of a loop or
// thread, csched_loop_end_run and csched_activation_end_run. They take no lock, allocate nothing, and leave errno alone. All else may take a lock, so
// also timers, pools, queues, cancelling and closing: where the handler has interrupted the lock's owner, that stops the process with a
// message. Threads of ours that run jobs begin with the signal mask of the thread that starts them, which for a pool's workers may be any
// that submits; those that only keep time block all signals but those of faults, so a handler never runs there.
//
// One process only: no lock, job or loop works in memory that processes share. 64 bits only.
//
// The system may refuse calls (seccomp), or lose descriptors that somebody else closes: what creates answers with the system's errno
// value; later that stops the process with a message that names the call. No wait then sleeps for ever, or spins. Loading the library
// takes one system call (membarrier), and no file; it stays loaded, whoever closes it by dlclose.
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

// What stands between the two is the library's interface: C, and exported, also where all else is hidden (-fvisibility=hidden).
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
#define CSCHED_ALWAYS_INLINE inline __attribute__((always_inline)) // where a call would cost what the function does
#define CSCHED_UNUSED        __attribute__((unused))
#define CSCHED_HIDDEN        __attribute__((visibility("hidden"))) // shared by the core's files only, so reached directly
#define CSCHED_INLINE        static inline __attribute__((unused))
#define CSCHED_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define CSCHED_CACHE_LINE    64
#define CSCHED_CACHE_ALIGNED __attribute__((aligned(CSCHED_CACHE_LINE)))
// Where there are exceptions, calls `function` with the variable's address when it goes out of scope, also when one passes.
#if defined(__EXCEPTIONS)
#define CSCHED_AT_END_OF_SCOPE(function) __attribute__((cleanup(function)))
#else
#define CSCHED_AT_END_OF_SCOPE(function)
#endif

// What each inline path says that knows the library's structs or state words: it needs the symbol csched_abi_1, or that of another
// ABI, so that a program does not link with, or start with, a library of another layout (version.h). It costs no instruction, and 8
// bytes in a whole program: a pointer to the symbol, once, which the linker keeps for the sake of an empty relocation in the code.
#define CSCHED_ABI_NAME       CSCHED_TEXT(CSCHED_ABI_SYMBOL)
#define CSCHED_ABI_IS_NEEDED_ CSCHED_ABI_NAME "_is_needed_"
// A program that is not linked with the library, but loads it by dlopen, defines CSCHED_BY_DLOPEN, and asks dlsym for the symbol itself.
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

// A thread-local word that is reached in one instruction, also from position-independent code.
#if defined(__linux__)
#define CSCHED_TLS_FAST __attribute__((tls_model("initial-exec")))
#else
#define CSCHED_TLS_FAST
#endif

// Sanitizers see only instrumented code. Under ThreadSanitizer no thread is given a fast identity (see lock.h), so that
// every operation goes through the library, which is instrumented.
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

// ThreadSanitizer is told of each lock: it then names locks, and finds those that are taken in different orders. Between
// WILL and its counterpart it leaves our own workings alone; to check these, build with CSCHED_TSAN_ANNOTATIONS=0.
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
// The flags are the interface's: 1 needs no making, 16 may give up, 32 has given up.
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

// AddressSanitizer is told of memory that nobody may touch.
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

// The unit in which tasks get memory, in bytes. Less is for a model checker.
#ifndef CSCHED_TASK_UNIT
#define CSCHED_TASK_UNIT 8192
#endif

// How many threads, and loops, are in the table that a signal handler writes. Less is for a model checker.
#ifndef CSCHED_DUMP_ROOM
#define CSCHED_DUMP_ROOM 256
#endif

// How many events of a trace each thread has room for, a power of 2. Less is for a model checker.
#ifndef CSCHED_TRACE_EVENTS
#define CSCHED_TRACE_EVENTS 16384
#endif

// Tells the processor that this is a spin loop.
#if defined(__x86_64__) || defined(__i386__)
#define CSCHED_CPU_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__) || defined(__arm__)
#define CSCHED_CPU_RELAX() __asm__ __volatile__("isb" ::: "memory")
#else
#define CSCHED_CPU_RELAX() __asm__ __volatile__("" ::: "memory")
#endif

// Reads the stack pointer, so the lowest address of the present function's frame; elsewhere another one in it.
// Whether the word of 32 bits at `p` is not zero, looked at once, with relaxed order: a comparison with memory and a jump. Of `load`, an atomic load of
// it, compilers make three instructions.
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

#if defined(__x86_64__)
#define CSCHED_READ_STACK_POINTER(word) __asm__ __volatile__("mov %%rsp, %0" : "=r"(word))
#elif defined(__aarch64__)
#define CSCHED_READ_STACK_POINTER(word) __asm__ __volatile__("mov %0, sp" : "=r"(word))
#else
#define CSCHED_READ_STACK_POINTER(word) ((word) = (uintptr_t)__builtin_frame_address(0))
#endif

CSCHED_BEGIN_DECLS

/// Returns: CSCHED_VERSION of the library in use, which may be later than that of the headers that the program was compiled with. Thread: any.
uint32_t csched_version(void);

/// An instant on the monotonic clock, or a span of time, in nanoseconds. Arithmetic on it saturates: see csched_time_after.
typedef uint64_t csched_time;

/// The end of time: a deadline that never comes.
#define CSCHED_FOREVER UINT64_MAX

/// Does: reads the monotonic clock. Returns: nanoseconds since an arbitrary start. Thread: any.
csched_time csched_now(void);

/// Returns: `start + span`, or CSCHED_FOREVER where that would overflow. A negative span counts as zero. Thread: any.
CSCHED_INLINE csched_time csched_time_after(csched_time start, int64_t span) {
  if (span <= 0) return start;
  csched_time end = start + (csched_time)span;
  return end < start ? CSCHED_FOREVER : end;
}

CSCHED_END_DECLS

#endif
