// oneTBB as a pool: tasks from outside, and fork and join.
#include <CBenchPeer.h>

#include <atomic>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <semaphore.h>

static const peer_harness *harness;

static tbb::task_arena &arena() {
  static tbb::task_arena one(harness->processors);
  return one;
}

static std::atomic<long> left;
static sem_t all_done;

static void run(long count) {
  sem_init(&all_done, 0, 0);
  left = count;
  for (long i = 0; i < count; i++)
    arena().enqueue([] {
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) sem_post(&all_done);
    });
  while (sem_wait(&all_done) != 0) {}
}

static long forked(int n, int leaf) {
  if (n <= leaf) return harness->fib(n);
  long other;
  tbb::task_group group;
  group.run([&] { other = forked(n - 1, leaf); });
  long mine = forked(n - 2, leaf);
  group.wait();
  return mine + other;
}

static long fib(int n, int leaf) {
  long result = 0;
  arena().execute([&] { result = forked(n, leaf); });
  return result;
}

static void spawn(void (*work)(void *), void *context) {
  arena().enqueue([=] { work(context); });
}

static const peer_pool pools[] = {{"TBB", nullptr, run, fib, spawn}, {}};

extern "C" const peer_library *peer_open(const peer_harness *given) {
  static peer_library library{};
  harness = given;
  library.pools = pools;
  return &library;
}
