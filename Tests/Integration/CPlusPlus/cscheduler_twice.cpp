// The second translation unit with the header: each of its classes and templates is used here, too.
#include "cscheduler_twice.h"

#include <cscheduler.hpp>
#include <cscheduler.hpp>

#include <mutex>

int from_other_unit() {
  int count = 0;
  scheduler::lock lock;
  scheduler::pool pool;
  scheduler::serial queue(pool);
  scheduler::thread thread("other unit");
  thread.async([&, number = std::make_unique<int>(1)] {
    std::lock_guard<scheduler::lock> guard(lock);
    count += *number;
  });
  thread.stop();
  thread.join();
  queue.sync([&] { count++; });
  scheduler::loop().run_ready();
  scheduler::virtual_time().run();
  return count;
}
