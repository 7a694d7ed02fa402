// asio: posts to a thread and to a pool, timers, round trips.
#include <CBenchPeer.h>

#include <asio.hpp>
#include <atomic>
#include <memory>
#include <semaphore.h>
#include <thread>
#include <vector>

static const peer_harness *harness;

// MARK: a consumer that sleeps

struct Flow {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(context);
  long each, left;
  Flow(int producers, long each) : each(each), left(producers * each) {}
};

static void *flow_make(int producers, long each) { return new Flow(producers, each); }
static void flow_destroy(void *flow) { delete static_cast<Flow *>(flow); }

static void flow_produce(void *context, int) {
  auto *flow = static_cast<Flow *>(context);
  for (long i = 0; i < flow->each; i++)
    asio::post(flow->context, [flow] {
      if (--flow->left == 0) flow->context.stop();
    });
}

static void flow_consume(void *flow) { static_cast<Flow *>(flow)->context.run(); }

static const peer_queue sleeping_queues[] = {{"asio post", flow_make, flow_produce, flow_consume, flow_destroy}, {}};

// MARK: a pool

static std::atomic<long> left;
static sem_t all_done;

static asio::thread_pool &pool() {
  static asio::thread_pool one(static_cast<size_t>(harness->processors));
  return one;
}

static void run(long count) {
  sem_init(&all_done, 0, 0);
  left = count;
  for (long i = 0; i < count; i++)
    asio::post(pool(), [] {
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) sem_post(&all_done);
    });
  while (sem_wait(&all_done) != 0) {}
}

static void spawn(void (*work)(void *), void *context) {
  asio::post(pool(), [=] { work(context); });
}

static const peer_pool pools[] = {{"asio thread_pool", nullptr, run, nullptr, spawn}, {}};

// MARK: timers; a cancelled one's handler still has to be run, which is part of the work

struct Wheel {
  asio::io_context context{1};
  std::vector<asio::steady_timer> pending;
  asio::steady_timer newest{context};
};

static void start(asio::steady_timer &timer, uint32_t milliseconds) {
  timer.expires_after(std::chrono::milliseconds(milliseconds));
  timer.async_wait([](const asio::error_code &) {});
}

static void *wheel_make(long pending, const uint32_t *milliseconds) {
  auto *made = new Wheel;
  made->pending.reserve(static_cast<size_t>(pending));
  for (long i = 0; i < pending; i++) start(made->pending.emplace_back(made->context), milliseconds[i]);
  return made;
}

static void wheel_newest(void *context, long count, const uint32_t *milliseconds) {
  auto *wheel = static_cast<Wheel *>(context);
  for (long i = 0; i < count; i++) {
    start(wheel->newest, milliseconds[i]);
    wheel->newest.cancel();
    if (i % 64 == 63) wheel->context.poll();
  }
  wheel->context.poll();
}

static void wheel_replaced(void *context, long count, const uint32_t *which, const uint32_t *milliseconds) {
  auto *wheel = static_cast<Wheel *>(context);
  for (long i = 0; i < count; i++) {
    start(wheel->pending[which[i]], milliseconds[i]); // a new expiry cancels
    if (i % 64 == 63) wheel->context.poll();
  }
  wheel->context.poll();
}

static const peer_timers timers[] = {{"asio", 0, wheel_make, wheel_newest, wheel_replaced}, {}};

// MARK: round trips

struct Pair {
  asio::io_context near{1}, far{1};
  asio::executor_work_guard<asio::io_context::executor_type> near_guard = asio::make_work_guard(near),
                                                             far_guard = asio::make_work_guard(far);
  std::thread thread{[this] { far.run(); }};
};

static void *pair_open() { return new Pair; }

static void pair_trip(void *context) {
  auto *pair = static_cast<Pair *>(context);
  bool has_answer = false;
  asio::post(pair->far, [&] { asio::post(pair->near, [&] { has_answer = true; }); });
  while (!has_answer) pair->near.run_one();
}

static void pair_close(void *context) {
  auto *pair = static_cast<Pair *>(context);
  pair->far.stop();
  pair->thread.join();
  delete pair;
}

static const peer_trip trips[] = {{"asio", pair_open, pair_trip, pair_close}, {}};

extern "C" const peer_library *peer_open(const peer_harness *given) {
  static peer_library library{};
  harness = given;
  library.sleeping_queues = sleeping_queues;
  library.pools = pools;
  library.timers = timers;
  library.trips = library.hosted_trips = trips;
  return &library;
}
