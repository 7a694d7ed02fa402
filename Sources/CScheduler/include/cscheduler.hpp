// The C API for C++17 and later: locks and waits, owning handles, functions with captures, coroutines.
// Depends on: CScheduler/CScheduler.h. Everything is inline: a program links only the C library. It is not part of the
// Clang module.
//
// An owner is an object whose destructor destroys a C object: loop, thread, pool, serial, limit, virtual_time. An owner
// converts to its `csched_target *`, and `get()` returns the C handle, for C functions that have no wrapper here. An
// owner can be moved. A moved-from owner can only be destroyed or assigned to.
//
// Exceptions: constructors that create a C object throw std::system_error with the errno value. An exception of a
// scheduled function propagates to the caller of the loop's run, or of `sync`. On one of the library's threads it ends
// the process (std::terminate), as job.h says. Destructors of captures must not throw. This header cannot be used with
// -fno-exceptions; -fno-rtti is fine.
#ifndef CSCHEDULER_HPP
#define CSCHEDULER_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "cscheduler.hpp needs C++17 (-std=c++17). For C, and older C++, include <CScheduler/CScheduler.h>."
#elif !defined(__cpp_exceptions)
#error "cscheduler.hpp tells failures by exceptions. With -fno-exceptions use the C API: <CScheduler/CScheduler.h>."
#else

#include <CScheduler/CScheduler.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

namespace scheduler {

// MARK: time, locks and waits

/// Returns: the deadline `span` from now on csched_now's clock; CSCHED_FOREVER on overflow. A negative or NaN span
/// counts as zero. Thread: any.
template <typename Rep, typename Period> csched_time after(std::chrono::duration<Rep, Period> span) {
  using namespace std::chrono;
  if (!(span > span.zero())) return csched_now();
  if (duration<double>(span) >= duration<double>(nanoseconds::max())) return CSCHED_FOREVER;
  return csched_time_after(csched_now(), ceil<nanoseconds>(span).count());
}

/// csched_lock (lock.h), as a standard lock: for std::lock_guard, std::unique_lock and std::scoped_lock.
class unfair_lock {
public:
  constexpr unfair_lock() noexcept = default;
  unfair_lock(const unfair_lock &) = delete;
  unfair_lock &operator=(const unfair_lock &) = delete;

  void lock() noexcept { csched_lock_lock(&lock_); }
  bool try_lock() noexcept { return csched_lock_trylock(&lock_); }
  void unlock() noexcept { csched_lock_unlock(&lock_); }

  /// Does: acquires the lock, and waits for at most `span`. Returns: whether the caller now owns the lock. Thread: any
  /// that does not own it before.
  template <typename Rep, typename Period> bool try_lock_for(std::chrono::duration<Rep, Period> span) {
    return csched_lock_lock_until(&lock_, after(span));
  }
  template <typename Clock, typename Duration> bool try_lock_until(std::chrono::time_point<Clock, Duration> deadline) {
    for (auto now = Clock::now(); now < deadline;
         now = Clock::now()) // repeated, because `Clock` may be set back during a wait
      if (try_lock_for(deadline - now)) return true;
    return try_lock();
  }

  csched_lock *get() noexcept { return &lock_; }

private:
  csched_lock lock_ = CSCHED_LOCK_INIT;
};
using lock = unfair_lock; // the class has another name, because it has a member function `lock`

namespace detail {

/// The base of classes that contain a C struct which threads wait for (`Raw`, all zero when unused).
template <typename Raw> class waitable {
public:
  constexpr waitable() noexcept = default;
  waitable(const waitable &) = delete;
  waitable &operator=(const waitable &) = delete;
  Raw *get() noexcept { return &raw_; }

protected:
  /// Does: waits until `deadline` of any clock, by calls of `wait(csched_time)`: more than one if `Clock` is set back
  /// meanwhile, and a final one that does not wait. Returns: whether a call of `wait` succeeded.
  template <typename Clock, typename Duration, typename Wait>
  static bool wait_with_clock(std::chrono::time_point<Clock, Duration> deadline, Wait wait) {
    for (auto now = Clock::now(); now < deadline; now = Clock::now())
      if (wait(after(deadline - now))) return true;
    return wait(csched_time{0}); // a deadline in the past: tries once, without waiting
  }
  Raw raw_ = {};
};

} // namespace detail

/// csched_rlock (rlock.h), with the interface of std::recursive_timed_mutex.
class recursive_lock : public detail::waitable<csched_rlock> {
public:
  void lock() noexcept { csched_rlock_lock(&raw_); }
  bool try_lock() noexcept { return csched_rlock_trylock(&raw_); }
  void unlock() noexcept { csched_rlock_unlock(&raw_); }
  template <typename Rep, typename Period> bool try_lock_for(std::chrono::duration<Rep, Period> span) {
    return csched_rlock_lock_until(&raw_, after(span));
  }
  template <typename Clock, typename Duration> bool try_lock_until(std::chrono::time_point<Clock, Duration> deadline) {
    return wait_with_clock(deadline, [this](csched_time time) { return csched_rlock_lock_until(&raw_, time); });
  }
};

/// csched_rwlock (rwlock.h), with the interface of std::shared_timed_mutex: for std::shared_lock, std::unique_lock and
/// similar classes.
class shared_lock : public detail::waitable<csched_rwlock> {
public:
  void lock() noexcept { csched_rwlock_lock_write(&raw_); }
  bool try_lock() noexcept { return csched_rwlock_trylock_write(&raw_); }
  void unlock() noexcept { csched_rwlock_unlock_write(&raw_); }
  template <typename Rep, typename Period> bool try_lock_for(std::chrono::duration<Rep, Period> span) {
    return csched_rwlock_lock_write_until(&raw_, after(span));
  }
  template <typename Clock, typename Duration> bool try_lock_until(std::chrono::time_point<Clock, Duration> deadline) {
    return wait_with_clock(deadline, [this](csched_time time) { return csched_rwlock_lock_write_until(&raw_, time); });
  }

  void lock_shared() noexcept { csched_rwlock_lock_read(&raw_); }
  bool try_lock_shared() noexcept { return csched_rwlock_trylock_read(&raw_); }
  void unlock_shared() noexcept { csched_rwlock_unlock_read(&raw_); }
  template <typename Rep, typename Period> bool try_lock_shared_for(std::chrono::duration<Rep, Period> span) {
    return csched_rwlock_lock_read_until(&raw_, after(span));
  }
  template <typename Clock, typename Duration>
  bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> deadline) {
    return wait_with_clock(deadline, [this](csched_time time) { return csched_rwlock_lock_read_until(&raw_, time); });
  }
};

/// csched_cond (cond.h), with the interface of std::condition_variable_any, for `unfair_lock`, also in a
/// std::unique_lock. A wait's caller owns the lock.
class condition : public detail::waitable<csched_cond> {
public:
  void notify_one() noexcept { csched_cond_signal(&raw_); }
  void notify_all() noexcept { csched_cond_broadcast(&raw_); }

  void wait(unfair_lock &lock) noexcept { csched_cond_wait(&raw_, lock.get()); }
  void wait(std::unique_lock<unfair_lock> &lock) noexcept { wait(*lock.mutex()); }
  template <typename Lock, typename Ready> void wait(Lock &lock, Ready is_ready) {
    while (!is_ready()) wait(lock);
  }

  /// Does: as wait, for `span` or until `deadline` of csched_now at most. Returns: whether it was woken; with
  /// `is_ready`: its result.
  template <typename Lock, typename Rep, typename Period>
  bool wait_for(Lock &lock, std::chrono::duration<Rep, Period> span) {
    return wait_until(lock, after(span));
  }
  template <typename Lock, typename Rep, typename Period, typename Ready>
  bool wait_for(Lock &lock, std::chrono::duration<Rep, Period> span, Ready is_ready) {
    return wait_until(lock, after(span), std::move(is_ready));
  }
  bool wait_until(unfair_lock &lock, csched_time deadline) noexcept {
    return csched_cond_wait_until(&raw_, lock.get(), deadline);
  }
  bool wait_until(std::unique_lock<unfair_lock> &lock, csched_time deadline) noexcept {
    return wait_until(*lock.mutex(), deadline);
  }
  template <typename Lock, typename Ready> bool wait_until(Lock &lock, csched_time deadline, Ready is_ready) {
    while (!is_ready())
      if (!wait_until(lock, deadline)) return is_ready();
    return true;
  }
};

/// csched_semaphore (semaphore.h), with the interface of std::counting_semaphore.
class semaphore : public detail::waitable<csched_semaphore> {
public:
  explicit semaphore(uint32_t units = 0) noexcept { csched_semaphore_init(&raw_, units); }
  void acquire() noexcept { csched_semaphore_wait(&raw_); }
  bool try_acquire() noexcept { return csched_semaphore_trywait(&raw_); }
  void release(uint32_t units = 1) noexcept { csched_semaphore_signal(&raw_, units); }
  template <typename Rep, typename Period> bool try_acquire_for(std::chrono::duration<Rep, Period> span) {
    return csched_semaphore_wait_until(&raw_, after(span));
  }
  template <typename Clock, typename Duration>
  bool try_acquire_until(std::chrono::time_point<Clock, Duration> deadline) {
    return wait_with_clock(deadline, [this](csched_time time) { return csched_semaphore_wait_until(&raw_, time); });
  }
};

/// csched_latch (latch.h), with the interface of std::latch, and waits with deadlines.
class latch : public detail::waitable<csched_latch> {
public:
  explicit latch(uint32_t count) noexcept { csched_latch_init(&raw_, count); }
  void count_down(uint32_t count = 1) noexcept { csched_latch_count_down(&raw_, count); }
  bool try_wait() const noexcept { return csched_latch_count(&raw_) == 0; }
  void wait() noexcept { csched_latch_wait(&raw_); }
  void arrive_and_wait(uint32_t count = 1) noexcept {
    count_down(count);
    wait();
  }
  template <typename Rep, typename Period> bool wait_for(std::chrono::duration<Rep, Period> span) {
    return csched_latch_wait_until(&raw_, after(span));
  }
  template <typename Clock, typename Duration> bool wait_until(std::chrono::time_point<Clock, Duration> deadline) {
    return wait_with_clock(deadline, [this](csched_time time) { return csched_latch_wait_until(&raw_, time); });
  }
};

// MARK: functions

/// A function that was scheduled, as a value (csched_task: task.h). It may be copied, and cancelled too late. Its
/// destructor does not cancel.
class task {
public:
  constexpr task() noexcept = default; ///< a task that is over
  constexpr explicit task(csched_task raw) noexcept : raw_(raw) {}

  /// Does: cancels the task if it has not started, and then destroys its captures before it returns. Returns, thread:
  /// as csched_task_cancel.
  csched_cancel_result cancel() const noexcept { return csched_task_cancel(raw_); }

  /// Does: as cancel, and waits until a started run has ended, except inside that run. Returns: the state before the
  /// wait, as csched_task_cancel.
  csched_cancel_result cancel_and_wait() const noexcept { return csched_task_cancel_and_wait(raw_); }

  /// Returns: whether the task has run to its end or will never run, and its captures are destroyed. Thread: any.
  bool is_over() const noexcept { return csched_task_is_over(raw_); }

  csched_task get() const noexcept { return raw_; }

private:
  csched_task raw_ = {nullptr, 0};
};

namespace detail {

// What a task's `void *context` points to: the function, and the function to call on a drop. Either `run` or
// `drop_context` is called, once, and destroys it, also on an exception.
template <typename Function, typename Drop> struct task_context {
  Function function;
  Drop drop;
  static void run(void *context) {
    std::unique_ptr<task_context> self(static_cast<task_context *>(context));
    static_cast<void>(std::invoke(std::move(self->function)));
  }
  static void drop_context(void *context, csched_drop_reason reason) noexcept {
    std::unique_ptr<task_context> self(static_cast<task_context *>(context));
    static_cast<void>(std::invoke(std::move(self->drop), reason));
  }
};

// Does: allocates a task_context, and passes its two functions and its address to `schedule`, which submits them.
// Returns: the task.
template <typename Function, typename Drop, typename Schedule>
task submit(Function &&function, Drop &&drop, Schedule schedule) {
  using context_type = task_context<std::decay_t<Function>, std::decay_t<Drop>>;
  static_assert(std::is_invocable_v<std::decay_t<Function>>, "async takes a function that is called without arguments");
  static_assert(std::is_invocable_v<std::decay_t<Drop>, csched_drop_reason>,
                "drop is called with a csched_drop_reason");
  auto *context = new context_type{std::forward<Function>(function), std::forward<Drop>(drop)};
  return task(schedule(context_type::run, context_type::drop_context, context));
}

inline constexpr auto ignore_drop = [](csched_drop_reason) noexcept {};

// Whether a function is stored in the `void *context` itself, without an allocation: if it is trivially copyable, and
// at most one word.
template <typename Function>
inline constexpr bool fits_in_context = sizeof(Function) <= sizeof(void *) &&
                                        alignof(Function) <= alignof(void *) && std::is_trivially_copyable_v<Function>;
// Does: calls the function whose bytes are those of `context`.
template <typename Function> void run_from_context(void *context) {
  alignas(Function) unsigned char bytes[sizeof(Function)];
  std::memcpy(bytes, &context, sizeof bytes);
  static_cast<void>(std::invoke(std::move(*std::launder(reinterpret_cast<Function *>(bytes)))));
}

} // namespace detail

template <typename Function, typename Drop> task async(csched_target *target, Function &&function, Drop &&drop);

/// Does: has `target` call `function()`, which is moved or copied, after all work that the same thread submitted to
/// `target` before. The function's captures are destroyed exactly once: on the thread that ran it, at the end of the
/// run. If it never runs, they are destroyed by the cancel, by the call that stops or destroys the target, or by this
/// call if the target accepts no more work. Returns: the task, to cancel it. Throws: std::bad_alloc, and what moving
/// `function` throws; nothing is then submitted. Thread: any.
template <typename Function> task async(csched_target *target, Function &&function) {
  using stored = std::decay_t<Function>;
  if constexpr (detail::fits_in_context<stored>) {
    static_assert(std::is_invocable_v<stored>, "async takes a function that is called without arguments");
    void *context = nullptr;
    const stored copy(std::forward<Function>(function));
    std::memcpy(&context, &copy, sizeof copy);
    return task(csched_target_async(target, detail::run_from_context<stored>, context));
  } else {
    return async(target, std::forward<Function>(function), detail::ignore_drop);
  }
}

/// Does: as async above. If `function` will not run, calls `drop(reason)` exactly once, on the thread that
/// csched_target_async_or_drop says (task.h). An exception that escapes `drop` ends the process.
template <typename Function, typename Drop> task async(csched_target *target, Function &&function, Drop &&drop) {
  return detail::submit(std::forward<Function>(function), std::forward<Drop>(drop),
                        [target](auto run, auto drop_context, void *context) {
                          return csched_target_async_or_drop(target, run, drop_context, context);
                        });
}

/// Does: has `target` call `function()` at `deadline` of the target's clock (csched_target_now). `after` makes a
/// deadline of csched_now's clock, which is every target's clock but virtual time's. Captures, returns, throws: as
/// async.
template <typename Function> task async_at(csched_target *target, csched_time deadline, Function &&function) {
  return detail::submit(
      std::forward<Function>(function), detail::ignore_drop, [&](auto run, auto drop_context, void *context) {
        return csched_target_async_at_or_drop(target, CSCHED_CLOCK_MONOTONIC, deadline, 0, run, drop_context, context);
      });
}

/// Does: has `target` call `function()` as `timing` says (task.h), until the task is cancelled, the target accepts no
/// more work, or the function throws. Then the function's captures are destroyed, once. Returns, throws: as async.
template <typename Function> task async_every(csched_target *target, const csched_timing &timing, Function &&function) {
  using stored = std::decay_t<Function>;
  static_assert(std::is_invocable_v<stored &>, "async_every takes a function that is called without arguments");
  auto call = [](void *context) {
    std::unique_ptr<stored> self(static_cast<stored *>(context));
    static_cast<void>(std::invoke(*self));
    static_cast<void>(self.release()); // no exception: the next call uses the function again
  };
  auto end = [](void *context, csched_drop_reason) noexcept { delete static_cast<stored *>(context); };
  return task(csched_target_async_every(target, &timing, call, end, new stored(std::forward<Function>(function))));
}

/// Does: calls `function(i)` once for each `i` from 0 to `count - 1`, on this thread and in jobs of `target`. Returns
/// when all calls have returned. `threads` and `grain`: as for csched_apply. Throws: the first exception of a call,
/// after all started calls have ended; no more calls are started.
template <typename Function>
void apply(csched_target *target, size_t threads, size_t count, Function &&function, size_t grain = 1) {
  struct call {
    std::remove_reference_t<Function> &function;
    std::atomic<bool> has_failed;
    std::exception_ptr thrown;
  } call{function, {false}, {}};
  auto body = [](void *context, size_t from, size_t to) {
    auto *self = static_cast<struct call *>(context);
    try {
      for (size_t i = from; i < to && !self->has_failed.load(std::memory_order_relaxed); i++)
        static_cast<void>(std::invoke(self->function, i));
    } catch (...) {
      auto thrown = std::current_exception();
      if (thrown == nullptr) throw; // no C++ exception: the thread is ending (pthread_exit, cancellation)
      if (!self->has_failed.exchange(true, std::memory_order_relaxed)) self->thrown = std::move(thrown);
    }
  };
  csched_apply(target, threads, count, grain, body, &call);
  if (call.thrown != nullptr) std::rethrow_exception(std::move(call.thrown));
}

// MARK: owners

namespace detail {

/// Does: throws std::system_error if `error`, an errno value, is not 0. `function`: which function returned it.
inline void throw_if_error(int error, const char *function) {
  if (error != 0) throw std::system_error(error, std::generic_category(), function);
}

/// Does: calls the C function `function`, named `name`, to create a C object. Returns: the object. Throws:
/// std::system_error.
template <typename Raw, typename... Arguments>
Raw *create(const char *name, int (*function)(Raw **, Arguments...), Arguments... arguments) {
  Raw *raw = nullptr;
  throw_if_error(function(&raw, arguments...), name);
  return raw;
}

inline csched_target *target_of(csched_loop *loop) noexcept { return csched_loop_target(loop); }
inline csched_target *target_of(csched_thread *thread) noexcept { return csched_thread_target(thread); }
inline csched_target *target_of(csched_serial *serial) noexcept { return csched_serial_target(serial); }
inline csched_target *target_of(csched_limit *limit) noexcept { return csched_limit_target(limit); }
inline csched_target *target_of(csched_virtual *timeline) noexcept { return csched_virtual_target(timeline); }
inline csched_target *target_of(csched_pool *pool) noexcept {
  return csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
}

/// The base of the owners: has the only reference to a C object, and calls `destroy` for it.
template <typename Raw, void (*destroy)(Raw *)> class owner {
public:
  Raw *get() const noexcept { return raw_.get(); }
  csched_target *target() const noexcept { return target_of(get()); }
  operator csched_target *() const noexcept { return target(); }

  /// Does: as scheduler::async, with this object's target.
  template <typename... Functions> task async(Functions &&...functions) const {
    return scheduler::async(target(), std::forward<Functions>(functions)...);
  }

protected:
  explicit owner(Raw *raw) noexcept : raw_(raw) {}

private:
  struct end { // the deleter of `raw_`
    void operator()(Raw *raw) const noexcept { destroy(raw); }
  };
  std::unique_ptr<Raw, end> raw_;
};

/// Does: stops the thread, waits for its end, and destroys it. Does not wait on that thread itself, or for a thread of
/// a parent process.
inline void join_and_destroy(csched_thread *thread) {
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  if (!csched_thread_is_orphaned(thread)) csched_thread_join(thread); // EDEADLK at once on that thread
  csched_thread_destroy(thread);
}

} // namespace detail

/// A run loop of the thread that creates it (loop.h). Its destructor drops outstanding work. Thread of the destructor:
/// as csched_loop_destroy.
class loop : public detail::owner<csched_loop, csched_loop_destroy> {
public:
  loop() : owner(detail::create("csched_loop_create", csched_loop_create)) {}

  /// The four run functions rethrow the exception of a function that they run. The loop can then be run again.
  csched_run_result run() const { return csched_loop_run(get()); }
  csched_run_result run_until(csched_time deadline) const { return csched_loop_run_until(get(), deadline); }
  bool run_once(csched_time deadline = CSCHED_FOREVER) const { return csched_loop_run_once(get(), deadline); }
  size_t run_ready(size_t max = SIZE_MAX) const { return csched_loop_run_ready(get(), max); }
  void end_run() const noexcept { csched_loop_end_run(get()); }
  void close(csched_stop_policy policy) const noexcept { csched_loop_close(get(), policy); }
};

/// A thread that runs functions in order (thread.h). Its destructor stops the thread, with CSCHED_STOP_RUN unless it
/// was stopped before, and waits for the thread's end. On that thread itself the destructor does not wait.
class thread : public detail::owner<csched_thread, detail::join_and_destroy> {
public:
  explicit thread(const csched_thread_options &options = {})
      : owner(detail::create("csched_thread_start", csched_thread_start, &options)) {}
  explicit thread(const char *name) : thread(named(name)) {}

  void stop(csched_stop_policy policy = CSCHED_STOP_RUN) const noexcept { csched_thread_stop(get(), policy); }
  /// Does: waits for the thread's end. Throws: std::system_error EDEADLK on that thread itself.
  void join() const { detail::throw_if_error(csched_thread_join(get()), "csched_thread_join"); }
  bool is_current() const noexcept { return csched_thread_is_current(get()); }

private:
  static csched_thread_options named(const char *name) noexcept {
    csched_thread_options options = {};
    options.name = name;
    return options;
  }
};

/// A pool of worker threads (pool.h). As a target it is the pool's default priority. Its destructor waits until
/// outstanding work has run, unless the pool was stopped with CSCHED_STOP_DROP, and until its threads have ended.
/// Thread of the destructor: any but the pool's own.
class pool : public detail::owner<csched_pool, csched_pool_destroy> {
public:
  explicit pool(const csched_pool_options &options = {})
      : owner(detail::create("csched_pool_create", csched_pool_create, &options)) {}

  csched_target *target(csched_priority priority = CSCHED_PRIORITY_DEFAULT) const noexcept {
    return csched_pool_target(get(), priority);
  }
  void stop(csched_stop_policy policy = CSCHED_STOP_RUN) const noexcept { csched_pool_stop(get(), policy); }
  /// Does: waits until the threads of a stopped pool have ended. Throws: std::system_error EDEADLK on a thread of the
  /// pool.
  void join() const { detail::throw_if_error(csched_pool_join(get()), "csched_pool_join"); }
};

/// A serial queue (serial.h) on `base`, which must outlive the queue's work. To build on another queue, pass its
/// target(). Submitted work still runs after the destructor.
class serial : public detail::owner<csched_serial, csched_serial_destroy> {
public:
  explicit serial(csched_target *base) : owner(detail::create("csched_serial_create", csched_serial_create, base)) {}

  /// Does: calls `function()` as a job of the queue, on this thread or on a thread of its base, and waits for its end.
  /// Returns: its result. Throws: the function's exception, on this thread. std::system_error ECANCELED: the base
  /// accepts no more work, or the function ended the other thread that it ran on. EDEADLK: the wait could never end
  /// (serial.h). Thread: any; it blocks.
  template <typename Function> std::invoke_result_t<Function> sync(Function &&function) const {
    using result = std::invoke_result_t<Function>;
    using pointer = std::add_pointer_t<result>; // stored in place of a reference; for void, NULL is stored
    constexpr bool is_value = !std::is_void_v<result> && !std::is_reference_v<result>;
    struct call {
      std::remove_reference_t<Function> &function;
      std::optional<std::conditional_t<is_value, std::remove_cv_t<result>, pointer>> outcome;
      std::exception_ptr thrown;
      void run() {
        if constexpr (is_value) {
          outcome.emplace(std::invoke(std::forward<Function>(function)));
        } else if constexpr (std::is_void_v<result>) {
          std::invoke(std::forward<Function>(function));
          outcome.emplace(nullptr);
        } else {
          auto &&found = std::invoke(std::forward<Function>(function));
          outcome.emplace(std::addressof(found));
        }
      }
    } call{function, {}, {}};
    auto body = [](void *context) {
      auto *self = static_cast<struct call *>(context);
      try {
        self->run();
      } catch (...) {
        self->thrown = std::current_exception();
        if (self->thrown == nullptr) throw; // no C++ exception: the thread is ending
      }
    };
    detail::throw_if_error(csched_serial_sync(get(), body, &call), "csched_serial_sync");
    if (call.thrown != nullptr) std::rethrow_exception(std::move(call.thrown));
    // no result and no exception: `function` ended the thread that it ran on
    if (!call.outcome) detail::throw_if_error(ECANCELED, "csched_serial_sync");
    if constexpr (is_value) return std::move(*call.outcome);
    else if constexpr (!std::is_void_v<result>) return static_cast<result>(**call.outcome);
  }
};

/// A target that runs at most `most` functions at a time on `base` (limit.h), which must outlive its work. Submitted
/// work still runs after the destructor.
class limit : public detail::owner<csched_limit, csched_limit_destroy> {
public:
  limit(csched_target *base, int most)
      : owner(detail::create("csched_limit_create", csched_limit_create, base, most)) {}

  /// Returns: the target for barriers: work submitted to it runs alone (csched_limit_barrier_target).
  csched_target *barrier_target() const noexcept { return csched_limit_barrier_target(get()); }
};

/// Virtual time, whose clock moves only by the calls below, for tests (virtual.h). Its destructor drops waiting work.
class virtual_time : public detail::owner<csched_virtual, csched_virtual_destroy> {
public:
  explicit virtual_time(csched_time start = 0, size_t turn_limit = 0)
      : owner(detail::create("csched_virtual_create", csched_virtual_create, start, turn_limit)) {}

  csched_time now() const noexcept { return csched_virtual_now(get()); }
  size_t pending() const noexcept { return csched_virtual_pending(get()); }
  /// The four functions below move the clock, and rethrow the exception of a function that they run.
  void advance(csched_time span) const { csched_virtual_advance(get(), span); }
  void advance_to(csched_time time) const { csched_virtual_advance_to(get(), time); }
  void run() const { csched_virtual_run(get()); }
  void step(csched_time count = 1) const { csched_virtual_step(get(), count); }
};

// MARK: coroutines

#if defined(__cpp_impl_coroutine)

/// `co_await on(target)` throws this if the target accepts no more work, drops the coroutine, or memory is short. Its
/// code: ECANCELED, or ENOMEM.
class dropped : public std::system_error {
public:
  explicit dropped(csched_drop_reason reason)
      : std::system_error(reason == CSCHED_DROP_NO_MEMORY ? ENOMEM : ECANCELED, std::generic_category(),
                          "co_await scheduler::on"),
        reason_(reason) {}
  csched_drop_reason reason() const noexcept { return reason_; }

private:
  csched_drop_reason reason_;
};

/// The awaiter of `co_await on(target)`: see `on`. It is in the coroutine frame.
class on_awaiter {
public:
  explicit on_awaiter(csched_target *target) noexcept : target_(target) {}
  bool await_ready() const noexcept { return false; }

  // Does: submits a job that resumes the coroutine. Returns: whether the coroutine stays suspended; false if the target
  // refused the job. During the submission another thread may resume the coroutine, and free its frame with this
  // object. So the result is in `is_refused`, on this thread's stack. Not inline, so that no compiler moves that
  // variable to the frame.
  CSCHED_NOINLINE bool await_suspend(std::coroutine_handle<> caller) {
    bool is_refused = false;
    caller_ = caller;
    is_refused_ = &is_refused;
    reason_.reset();
    csched_target_async_or_drop(target_, resume, drop_context, this);
    return !is_refused;
  }
  void await_resume() const {
    if (reason_) throw dropped(*reason_);
  }

private:
  static void resume(void *context) { static_cast<on_awaiter *>(context)->caller_.resume(); }
  static void drop_context(void *context, csched_drop_reason reason) noexcept {
    auto *self = static_cast<on_awaiter *>(context);
    self->reason_ = reason;
    // refused: this call is inside await_suspend, which returns false, so the coroutine continues there
    if (reason == CSCHED_DROP_REFUSED || reason == CSCHED_DROP_NO_MEMORY) *self->is_refused_ = true;
    else self->caller_.resume();
  }

  csched_target *target_;
  std::coroutine_handle<> caller_;
  bool *is_refused_ = nullptr;               // the variable of await_suspend; valid only during its submission
  std::optional<csched_drop_reason> reason_; // set: the job was dropped, so await_resume throws
};

/// Does: `co_await on(target)` suspends the coroutine, and resumes it as a job of `target`. Throws: `dropped`, inside
/// the coroutine, if that job does not run. If the target accepts no more work, or memory is short, it throws on this
/// thread. If the target drops the job later, it throws on the thread that stops or destroys the target, inside that
/// call, or on a thread of the target. So the coroutine is resumed exactly once, if the target is eventually run,
/// closed or destroyed. An exception that escapes the coroutine (an `unhandled_exception` that throws) acts as one from
/// a function of async. If it escapes after a drop, it ends the process.
[[nodiscard]] inline on_awaiter on(csched_target *target) noexcept { return on_awaiter(target); }

#endif

} // namespace scheduler

#endif // C++17, with exceptions
#endif
