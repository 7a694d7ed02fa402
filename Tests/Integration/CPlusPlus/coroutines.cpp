// Coroutines of C++20 that move between targets by `co_await scheduler::on(target)`: each is resumed once, on its
// target or with an error, and no coroutine frame leaks.
#include <cscheduler.hpp>

#include "cscheduler_twice.h"

#include <atomic>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

std::atomic<int> frames{0};

// A coroutine without a waiter. Its exceptions are thrown to the code that resumed it; by the language the coroutine is
// then not destroyed.
struct Detached {
  struct promise_type {
    promise_type() { frames++; }
    ~promise_type() { frames--; }
    Detached get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const { throw; }
  };
  std::coroutine_handle<> handle;
};

void wait_for(const std::atomic<int> &count, int expected) {
  while (count != expected) usleep(100);
}

// MARK: where a coroutine continues

Detached hops(scheduler::thread &thread, scheduler::pool &pool, scheduler::serial &queue, std::atomic<int> &done) {
  std::string kept(100, 'k'); // is in the coroutine's frame
  auto owned = std::make_unique<int>(1);
  for (int round = 0; round < 500; round++) {
    co_await scheduler::on(thread);
    CHECK(thread.is_current() && csched_target_current() == thread.target());
    co_await scheduler::on(pool.target(CSCHED_PRIORITY_LOW));
    CHECK(!thread.is_current() && csched_target_current() == pool.target(CSCHED_PRIORITY_LOW));
    co_await scheduler::on(queue);
    CHECK(csched_target_current() == queue.target());
    co_await scheduler::on(queue); // again, to let others have their time
    *owned += static_cast<int>(kept.size());
  }
  CHECK(*owned == 50001);
  done++;
}

void hopping() {
  std::atomic<int> done{0};
  scheduler::thread thread;
  scheduler::pool pool;
  scheduler::serial queue(pool);
  for (int i = 0; i < 20; i++) hops(thread, pool, queue, done);
  wait_for(done, 20);
  wait_for(frames, 0);
}

// MARK: refused, and given up

Detached refused(csched_target *closed, csched_target *open, std::atomic<int> &done) {
  int count = 0;
  for (int round = 0; round < 100000; round++) // on this thread, and without a stack that grows
    try {
      co_await scheduler::on(closed);
    } catch (const scheduler::dropped &error) {
      count += error.reason() == CSCHED_DROP_REFUSED && error.code() == std::errc::operation_canceled;
    }
  CHECK(count == 100000);
  auto hop = scheduler::on(closed); // one awaiter, awaited again
  for (int round = 0; round < 2; round++) try {
      co_await hop;
      CHECK(false);
    } catch (const std::system_error &) {}
  co_await scheduler::on(open);
  done++;
}

Detached given_up(csched_target *target, csched_target *other, std::atomic<int> &drops, std::atomic<int> &done) {
  try {
    co_await scheduler::on(target);
    CHECK(false);
  } catch (const scheduler::dropped &error) {
    drops += error.reason() == CSCHED_DROP_STOPPED;
  }
  co_await scheduler::on(other); // from inside of the drop
  done++;
}

void dropping() {
  std::atomic<int> drops{0}, done{0};
  scheduler::pool pool;
  {
    scheduler::thread stopped;
    stopped.stop();
    stopped.join();
    refused(stopped, pool, done);
    wait_for(done, 1);
  }
  {
    scheduler::loop loop;
    for (int i = 0; i < 10; i++) given_up(loop, pool, drops, done);
    CHECK(drops == 0 && frames >= 10);
  }
  CHECK(drops == 10);
  wait_for(done, 11);
  {
    scheduler::thread thread;
    scheduler::serial queue(thread);
    std::atomic<bool> may_go{false};
    thread.async([&may_go] {
      while (!may_go) usleep(100);
    });
    for (int i = 0; i < 10; i++) given_up(i % 2 == 0 ? thread.target() : queue.target(), pool, drops, done);
    thread.stop(CSCHED_STOP_DROP);
    may_go = true;
    thread.join();
  }
  wait_for(drops, 20);
  wait_for(done, 21);
  wait_for(frames, 0);
}

// MARK: a stop that comes at any time

Detached either(csched_target *target, std::atomic<int> &went, std::atomic<int> &failed) {
  try {
    co_await scheduler::on(target);
    went++;
  } catch (const scheduler::dropped &) {
    failed++;
  }
}

void racing() {
  for (int round = 0; round < 100; round++) {
    std::atomic<int> went{0}, failed{0};
    {
      scheduler::thread thread;
      scheduler::pool pool;
      for (int i = 0; i < 2; i++)
        pool.async([&] {
          for (int j = 0; j < 100; j++) either(thread, went, failed);
        });
      if (round % 2 == 0) usleep(static_cast<useconds_t>(round));
      thread.stop(CSCHED_STOP_DROP);
      pool.stop();
      pool.join();
    }
    CHECK(went + failed == 200 && frames == 0);
  }
}

// MARK: exceptions, and targets that run jobs at once

Detached throws(csched_target *target) {
  co_await scheduler::on(target);
  throw 42;
}

Detached runs(csched_target *target, int &ran) {
  for (int i = 0; i < 3; i++) co_await scheduler::on(target);
  ran++;
}

void leaving() {
  scheduler::loop loop;
  Detached thrower = throws(loop);
  int caught = 0, ran = 0;
  try {
    loop.run();
  } catch (int number) {
    caught = number;
  }
  CHECK(caught == 42 && frames == 1);
  thrower.handle.destroy();

  csched_target_type type = {};
  type.deliver = [](csched_target *target, csched_job *job) {
    csched_target_perform(target, job);
    return 0;
  };
  csched_target at_once = {&type, nullptr, nullptr};
  runs(&at_once, ran);
  CHECK(ran == 1 && frames == 0);
}

} // namespace

int main() {
  alarm(100);
  hopping();
  dropping();
  racing();
  leaving();
  CHECK(frames == 0 && csched_live_threads() == 0);
  csched_shutdown(CSCHED_STOP_DROP);
  std::puts("coroutines continue on their target, or with an error");
  return 0;
}
