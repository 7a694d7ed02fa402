// cscheduler.hpp: the lock, what becomes of captures, exceptions, owners. Its other half is a second translation unit
// (cscheduler_twice.cpp).
#include <cscheduler.hpp>

#include "cscheduler_twice.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// Counts objects, and how often one was destroyed that had not been moved from.
struct Capture {
  static inline std::atomic<int> alive{0}, ended{0};
  bool is_whole = true;
  Capture() { alive++; }
  Capture(Capture &&other) noexcept : is_whole(std::exchange(other.is_whole, false)) { alive++; }
  Capture(const Capture &) = delete;
  ~Capture() {
    alive--;
    ended += is_whole;
  }
  static int take_ended() { return ended.exchange(0); }
};

template <typename Error, typename Call> Error thrown_by(Call call) {
  try {
    call();
  } catch (const Error &error) {
    return error;
  }
  std::printf("nothing was thrown\n");
  std::exit(1);
}
template <typename Call> int code_thrown_by(Call call) { return thrown_by<std::system_error>(call).code().value(); }

// MARK: the lock

void locks() {
  scheduler::lock lock;
  static_assert(sizeof lock == 4);
  constexpr int count = 16, rounds = 20000;
  long sum = 0;
  std::atomic<int> here{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++)
    threads.emplace_back([&, i] {
      here++;
      while (here < count) std::this_thread::yield(); // so that they contend
      for (int round = 0; round < rounds; round++) {
        if (i % 2 == 0) {
          std::lock_guard<scheduler::lock> guard(lock);
          sum++;
        } else {
          std::unique_lock<scheduler::lock> guard(lock, std::defer_lock);
          if (!guard.try_lock()) guard.lock();
          sum++;
        }
      }
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(sum == long{count} * rounds);

  std::unique_lock<scheduler::lock> held(lock);
  CHECK(!lock.try_lock());
  std::thread([&] {
    using namespace std::chrono;
    auto start = steady_clock::now();
    CHECK(!lock.try_lock_for(milliseconds(5)) && steady_clock::now() - start >= milliseconds(5));
    CHECK(!lock.try_lock_until(system_clock::now() + milliseconds(5)) &&
          !lock.try_lock_until(steady_clock::time_point::min()));
    CHECK(!lock.try_lock_for(seconds::min()) && !lock.try_lock_for(duration<double>(-1.0 / 0.0)));
  }).join();
  held.unlock();
  CHECK(lock.try_lock_for(std::chrono::hours::max())); // at once
  lock.unlock();
  CHECK(lock.try_lock_until(std::chrono::steady_clock::time_point::max()));
  lock.unlock();
  CHECK(scheduler::after(std::chrono::hours::max()) == CSCHED_FOREVER);
  CHECK(scheduler::after(std::chrono::hours(3000000)) == CSCHED_FOREVER);
  CHECK(scheduler::after(std::chrono::duration<double>(1e30)) == CSCHED_FOREVER);
  CHECK(scheduler::after(std::chrono::hours(1)) > csched_now() &&
        scheduler::after(std::chrono::hours::min()) <= csched_now());
  scheduler::lock other;
  std::scoped_lock both(lock, other);
}

// MARK: what waits

void waits() {
  using namespace std::chrono;
  scheduler::recursive_lock nested;
  scheduler::shared_lock shelf;
  scheduler::unfair_lock lock;
  scheduler::condition ready;
  scheduler::semaphore slots(2);
  scheduler::latch all(4);
  static_assert(sizeof nested == 8 && sizeof shelf == 8 && sizeof ready == 8 && sizeof slots == 4 && sizeof all == 4);
  long values[2] = {0, 0}, sum = 0;
  int turn = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&, i] {
      all.arrive_and_wait(); // so that they contend
      for (int round = 0; round < 2000; round++) {
        if (i == 0) {
          std::unique_lock<scheduler::shared_lock> guard(shelf);
          values[0]++, values[1]++;
        } else {
          std::shared_lock<scheduler::shared_lock> guard(shelf);
          CHECK(values[0] == values[1]);
        }
        std::lock_guard<scheduler::recursive_lock> outer(nested), inner(nested);
        sum++;
      }
      std::unique_lock<scheduler::unfair_lock> guard(lock);
      ready.wait(guard, [&] { return turn == i; });
      turn++;
      guard.unlock();
      ready.notify_all();
      slots.acquire();
      slots.release();
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(values[0] == 2000 && sum == 8000 && turn == 4 && all.try_wait());

  std::shared_lock<scheduler::shared_lock> reading(shelf);
  std::lock_guard<scheduler::recursive_lock> held(nested);
  std::thread([&] { // nothing is early
    auto start = steady_clock::now();
    CHECK(!shelf.try_lock() && !shelf.try_lock_for(milliseconds(5)) && steady_clock::now() - start >= milliseconds(5));
    CHECK(!shelf.try_lock_until(system_clock::now() + milliseconds(5)) && !nested.try_lock_for(milliseconds(5)));
    CHECK(!nested.try_lock_until(steady_clock::time_point::min()) && shelf.try_lock_shared_for(hours::max()));
    shelf.unlock_shared();
    CHECK(shelf.try_lock_shared_until(steady_clock::time_point::min()) &&
          steady_clock::now() - start >= milliseconds(15));
    shelf.unlock_shared();
  })
      .join();
  CHECK(slots.try_acquire_for(hours::max()) && slots.try_acquire() && !slots.try_acquire());
  CHECK(!slots.try_acquire_for(milliseconds(1)) && !slots.try_acquire_until(steady_clock::now() + milliseconds(1)));
  scheduler::latch shut(1);
  CHECK(!shut.try_wait() && !shut.wait_for(milliseconds(1)) && !shut.wait_until(system_clock::now() + milliseconds(1)));
  std::unique_lock<scheduler::unfair_lock> guard(lock);
  CHECK(!ready.wait_for(guard, milliseconds(1)) && !ready.wait_for(guard, milliseconds(1), [] { return false; }));
  CHECK(ready.wait_for(guard, seconds::min(), [] { return true; }) && guard.owns_lock());
  CHECK(!ready.wait_until(lock, csched_now()) && csched_rwlock_readers(shelf.get()) == 1);
}

// MARK: captures

void captures_of_a_run() {
  scheduler::thread thread("captures");
  std::atomic<int> seen{0};
  auto number = std::make_unique<int>(42);
  scheduler::task task = thread.async([capture = Capture(), number = std::move(number), &seen] { seen = *number; });
  CHECK(number == nullptr);
  while (!task.is_over()) usleep(100);
  CHECK(seen == 42 && Capture::alive == 0 && Capture::take_ended() == 1);
  CHECK(task.cancel() == CSCHED_CANCEL_FINISHED && Capture::take_ended() == 0);

  // A capture of one word, and a closure that is copied.
  std::string text(100, 'a');
  auto copied = [text, &seen] { seen += static_cast<int>(text.size()); };
  thread.async([&seen] { seen++; });
  thread.async(copied);
  thread.async([] {}).cancel_and_wait();
  copied();
  thread.stop();
  thread.join();
  CHECK(seen == 243);
}

void captures_of_the_cancelled() {
  scheduler::thread thread;
  std::atomic<bool> may_go{false};
  std::atomic<int> begun{0};
  scheduler::task running = thread.async([capture = Capture(), &may_go, &begun] {
    begun++;
    while (!may_go) usleep(100);
  });
  scheduler::task waiting = scheduler::async(thread, [capture = Capture(), &begun] { begun++; });
  csched_drop_reason reason = CSCHED_DROP_STOPPED;
  scheduler::task reported = thread.async([capture = Capture(), &begun] { begun++; },
                                          [capture = Capture(), &reason](csched_drop_reason why) { reason = why; });
  while (begun == 0) usleep(100);
  CHECK(waiting.cancel() == CSCHED_CANCEL_DROPPED && waiting.is_over() && Capture::take_ended() == 1);
  CHECK(reported.cancel_and_wait() == CSCHED_CANCEL_DROPPED && reason == CSCHED_DROP_CANCELLED &&
        Capture::take_ended() == 2);
  CHECK(running.cancel() == CSCHED_CANCEL_RUNNING && !running.is_over() && Capture::take_ended() == 0);
  may_go = true;
  running.cancel_and_wait();
  CHECK(running.is_over() && begun == 1 && Capture::take_ended() == 1 && Capture::alive == 0);
  CHECK(scheduler::task().is_over() && scheduler::task().cancel() == CSCHED_CANCEL_FINISHED);
}

void captures_of_the_stopped() {
  {
    scheduler::loop loop;
    for (int i = 0; i < 10; i++) loop.async([capture = Capture()] {});
    CHECK(Capture::alive == 10);
  }
  CHECK(Capture::alive == 0 && Capture::take_ended() == 10);

  scheduler::thread thread;
  std::atomic<bool> may_go{false};
  std::atomic<int> stopped{0}, refused{0};
  thread.async([&may_go] {
    while (!may_go) usleep(100);
  });
  auto count = [&](csched_drop_reason why) { (why == CSCHED_DROP_STOPPED ? stopped : refused)++; };
  for (int i = 0; i < 10; i++) thread.async([capture = Capture()] {}, count);
  thread.stop(CSCHED_STOP_DROP);
  may_go = true;
  thread.join();
  CHECK(Capture::alive == 0 && Capture::take_ended() == 10 && stopped == 10);
  auto number = std::make_unique<int>(1);
  scheduler::task late = thread.async([capture = Capture(), number = std::move(number)] {}, count);
  CHECK(late.is_over() && refused == 1 && number == nullptr && Capture::alive == 0 && Capture::take_ended() == 1);
  CHECK(thread.async([&] { refused = 100; }).is_over() && refused == 1);
}

// Of many at a time, while they are cancelled, each runs or is dropped once.
void captures_of_a_race() {
  constexpr int count = 20000;
  std::atomic<int> ran{0}, gone{0};
  {
    scheduler::pool pool;
    scheduler::serial queue(pool);
    std::vector<scheduler::task> tasks;
    for (int i = 0; i < count; i++) {
      tasks.push_back(scheduler::async(
          i % 2 == 0 ? queue.target() : pool.target(CSCHED_PRIORITY_HIGH), [capture = Capture(), &ran] { ran++; },
          [&](csched_drop_reason) { gone++; }));
      if (i % 3 == 0) tasks[static_cast<size_t>(i / 2)].cancel();
    }
  }
  CHECK(ran + gone == count && Capture::alive == 0 && Capture::take_ended() == count);
}

// What the others read is written by a barrier.
void limited_and_barriers() {
  int written = 0;
  std::atomic<int> inside{0}, most{0}, torn{0};
  {
    scheduler::pool pool;
    scheduler::limit limit(pool, 3);
    scheduler::task last;
    for (int i = 0; i < 2000; i++) {
      if (i % 10 == 9) {
        last = scheduler::async(limit.barrier_target(), [&] {
          written++;
          if (inside != 0) torn++;
        });
      } else {
        limit.async([&, i] {
          int now = ++inside, before = most;
          while (now > before && !most.compare_exchange_weak(before, now)) {}
          if (written != i / 10) torn++;
          inside--;
        });
      }
    }
    while (!last.is_over()) std::this_thread::yield();
  }
  CHECK(written == 200 && torn == 0 && most <= 3);
}

// A loop side by side, and the first exception of it.
void applied() {
  scheduler::pool pool;
  std::vector<int> squares(1000);
  scheduler::apply(pool, 3, squares.size(), [&](size_t i) { squares[i] += static_cast<int>(i * i); });
  for (size_t i = 0; i < squares.size(); i++) CHECK(squares[i] == static_cast<int>(i * i));
  std::atomic<int> called{0};
  try {
    scheduler::apply(pool, 3, 100000, [&](size_t i) {
      called++;
      if (i == 10) throw std::runtime_error("ten");
    });
    CHECK(false);
  } catch (const std::runtime_error &error) {
    CHECK(std::string(error.what()) == "ten" && called < 100000);
  }
}

// At an instant, and again and again.
void captures_of_timers() {
  scheduler::virtual_time time;
  std::vector<int> order;
  auto number = std::make_unique<int>(2);
  scheduler::async_at(time, 20,
                      [capture = Capture(), number = std::move(number), &order] { order.push_back(*number); });
  scheduler::async_at(time, 10, [&order] { order.push_back(1); });
  scheduler::task late = scheduler::async_at(time, CSCHED_FOREVER, [capture = Capture()] {});
  time.run();
  CHECK((order == std::vector<int>{1, 2}) && Capture::alive == 1 && Capture::take_ended() == 1);
  CHECK(late.cancel() == CSCHED_CANCEL_DROPPED && Capture::alive == 0 && Capture::take_ended() == 1);

  csched_timing timing = {};
  timing.first = 30, timing.period = 10;
  int ticks = 0;
  scheduler::task task = scheduler::async_every(time, timing, [capture = Capture(), &ticks]() mutable { ticks++; });
  time.advance_to(55);
  CHECK(ticks == 3 && Capture::alive == 1);
  CHECK(task.cancel() == CSCHED_CANCEL_DROPPED && Capture::alive == 0 && Capture::take_ended() == 1);
  task = scheduler::async_every(time, timing, [capture = Capture(), &ticks] {
    if (++ticks == 5) throw 8;
  });
  CHECK(thrown_by<int>([&] { time.advance(100); }) == 8);
  CHECK(task.is_over() && Capture::alive == 0 && Capture::take_ended() == 1);
  time.advance(100);
  CHECK(ticks == 5 && time.pending() == 0);
}

// MARK: exceptions

void exceptions() {
  scheduler::loop loop;
  int ran = 0;
  scheduler::task thrower = loop.async([capture = Capture()] { throw std::runtime_error("left"); });
  loop.async([&] { ran++; });
  CHECK(thrown_by<std::runtime_error>([&] { loop.run(); }).what() == std::string("left"));
  CHECK(thrower.is_over() && Capture::alive == 0 && Capture::take_ended() == 1 && ran == 0);
  loop.async([&] { loop.end_run(); });
  CHECK(loop.run() == CSCHED_RUN_ENDED && ran == 1);

  // Out of a function of one word, and of what cannot be moved to where it would be called.
  loop.async([] { throw 1; });
  CHECK(thrown_by<int>([&] { loop.run_once(); }) == 1);
  struct Stubborn {
    std::string text = "so that it is no word";
    Stubborn() = default;
    Stubborn(const Stubborn &) { throw 2; }
    void operator()() const {}
  } stubborn;
  CHECK(thrown_by<int>([&] { loop.async(stubborn); }) == 2 && loop.run_ready() == 0);

  loop.close(CSCHED_STOP_DROP);
  CHECK(loop.run() == CSCHED_RUN_CLOSED && loop.async([&] { ran++; }).is_over() && ran == 1);
}

// An exception on one of our threads is caught nowhere.
void uncaught() {
  pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO);
    scheduler::thread thread;
    thread.async([] { throw 1; });
    thread.stop();
    thread.join();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

void syncs() {
  scheduler::thread thread("base");
  scheduler::serial queue(thread), upper(queue.target());
  int number = 1;
  CHECK(queue.sync([&] { return thread.is_current(); }));
  CHECK(*queue.sync([] { return std::make_unique<int>(7); }) == 7);
  CHECK(&upper.sync([&]() -> int & { return number; }) == &number);
  std::string gone = "gone";
  std::string text = upper.sync([&]() -> std::string && { return std::move(gone); });
  CHECK(text == "gone");
  upper.sync([&] { number++; });
  CHECK(number == 2);
  // An exception crosses from the thread that ran it.
  CHECK(thrown_by<int>([&] { queue.sync([] { throw 3; }); }) == 3 &&
        thrown_by<int>([&] { upper.sync([]() -> int { throw 4; }); }) == 4);
  CHECK(queue.sync([&] { return code_thrown_by([&] { queue.sync([] {}); }); }) == EDEADLK);
  thread.stop();
  thread.join();
  CHECK(code_thrown_by([&] { upper.sync([] { return 1; }); }) == ECANCELED);

  // A body that ends its thread: another one's, and the caller's own.
  scheduler::thread ending;
  scheduler::serial of_ending(ending);
  CHECK(code_thrown_by([&] { of_ending.sync([] { pthread_exit(nullptr); }); }) == ECANCELED);
  scheduler::pool pool;
  scheduler::serial of_pool(pool);
  pthread_t own;
  CHECK(pthread_create(
            &own, nullptr,
            [](void *queue) -> void * {
              static_cast<scheduler::serial *>(queue)->sync([]() -> int { pthread_exit(nullptr); });
              std::exit(1);
            },
            &of_pool) == 0);
  CHECK(pthread_join(own, nullptr) == 0 && of_pool.sync([] { return 5; }) == 5);
}

// MARK: owners

void owners() {
  csched_thread_options tiny = {};
  tiny.stack_size = SIZE_MAX / 2;
  std::system_error error = thrown_by<std::system_error>([&] { scheduler::thread thread(tiny); });
  CHECK((error.code() == std::errc::resource_unavailable_try_again || error.code() == std::errc::not_enough_memory) &&
        std::string(error.what()).find("csched_thread_start") == 0);

  scheduler::thread thread("moved");
  scheduler::thread moved(std::move(thread));
  thread = scheduler::thread(); // after a move an owner can be used anew
  std::atomic<int> ran{0};
  thread.async([&] { ran += thread.is_current() && code_thrown_by([&] { thread.join(); }) == EDEADLK; });
  while (ran == 0) usleep(100);
  moved.async([&] { ran++; });
  moved = std::move(thread); // which waits for the thread that it had
  CHECK(ran == 2);

  // The last to keep a thread may be a function on it.
  auto shared = std::make_shared<scheduler::thread>();
  csched_target *target = shared->target();
  std::atomic<bool> may_go{false};
  scheduler::async(target, [shared, &may_go] {
    while (!may_go) usleep(100);
  });
  shared.reset();
  may_go = true;
  for (int i = 0; i < 100000 && csched_live_threads() > 1; i++) usleep(100);
  CHECK(csched_live_threads() == 1); // `moved`

  csched_pool_options options = {};
  options.workers = 2;
  scheduler::pool pool(options);
  CHECK(csched_pool_worker_count(pool.get()) == 2 && pool.target() == pool.target(CSCHED_PRIORITY_DEFAULT));
  pool.async([&] { ran++; });
  pool.stop();
  pool.join();
  CHECK(ran == 3);

  scheduler::virtual_time time(100);
  scheduler::serial queue(time);
  std::vector<int> order;
  time.async([&] { order.push_back(1); });
  queue.async([&] { order.push_back(2); });
  CHECK(time.pending() == 2);
  time.step();
  CHECK(order == std::vector<int>{1});
  time.run();
  time.advance(5);
  time.advance_to(120);
  CHECK((order == std::vector<int>{1, 2}) && time.now() == 120 && csched_target_now(queue) == 120);
  time.async([] { throw 6; });
  CHECK(thrown_by<int>([&] { time.run(); }) == 6);
}

// In a child of fork, the owners of orphaned objects can still be destroyed.
void forks() {
  auto *thread = new scheduler::thread("parent's");
  auto *pool = new scheduler::pool();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    delete thread;
    delete pool;
    _exit(0);
  }
  CHECK(ended_well(child));
  delete thread;
  delete pool;
}

} // namespace

int main() {
  alarm(100);
  uncaught(); // first: a sanitizer wants no threads before a fork
  locks();
  waits();
  captures_of_a_run();
  captures_of_the_cancelled();
  captures_of_the_stopped();
  captures_of_a_race();
  limited_and_barriers();
  applied();
  captures_of_timers();
  exceptions();
  syncs();
  owners();
  forks();
  CHECK(from_other_unit() == 2); // the header in two translation units
  CHECK(Capture::alive == 0 && csched_live_threads() == 0);
  csched_shutdown(CSCHED_STOP_DROP);
  std::puts("captures end once, exceptions arrive, owners give back");
  return 0;
}
