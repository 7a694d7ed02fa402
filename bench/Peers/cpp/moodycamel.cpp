// moodycamel's queue: with a token for each producer, without, and with a consumer that sleeps.
#include <CBenchPeer.h>

#if __has_include(<concurrentqueue/blockingconcurrentqueue.h>)
#include <concurrentqueue/blockingconcurrentqueue.h>
#else
#include <concurrentqueue/moodycamel/blockingconcurrentqueue.h>
#endif
#include <thread>
#include <vector>

using Bare = moodycamel::ConcurrentQueue<void *>;
using Blocking = moodycamel::BlockingConcurrentQueue<void *>;

template <class Queue> struct Flow {
  Queue queue;
  std::vector<moodycamel::ProducerToken> producers;
  moodycamel::ConsumerToken consumer;
  long each, all;

  Flow(int count, long each)
      : queue(static_cast<size_t>(count * each), static_cast<size_t>(count), static_cast<size_t>(count)),
        consumer(queue), each(each), all(count * each) {
    for (int i = 0; i < count; i++) producers.emplace_back(queue);
    // The memory is there, and has been written to.
    for (int i = 0; i < count; i++)
      for (long j = 0; j < each; j++) queue.enqueue(producers[static_cast<size_t>(i)], this);
    void *item;
    for (long i = 0; i < all; i++) queue.try_dequeue(consumer, item);
  }
};

static void look_away() {
  for (int i = 0; i < 8; i++) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

template <class Queue> static void *make(int producers, long each) { return new Flow<Queue>(producers, each); }
template <class Queue> static void destroy(void *flow) { delete static_cast<Flow<Queue> *>(flow); }

template <class Queue> static void produce(void *context, int producer) {
  auto *flow = static_cast<Flow<Queue> *>(context);
  auto &token = flow->producers[static_cast<size_t>(producer)];
  for (long i = 0; i < flow->each; i++) flow->queue.enqueue(token, flow);
}

static void produce_without(void *context, int) {
  auto *flow = static_cast<Flow<Bare> *>(context);
  for (long i = 0; i < flow->each; i++) flow->queue.enqueue(flow);
}

static void consume(void *context) {
  auto *flow = static_cast<Flow<Bare> *>(context);
  void *item;
  for (long left = flow->all; left > 0;) {
    if (flow->queue.try_dequeue(flow->consumer, item)) left--;
    else look_away();
  }
}

static void consume_without(void *context) {
  auto *flow = static_cast<Flow<Bare> *>(context);
  void *item;
  for (long left = flow->all; left > 0;) {
    if (flow->queue.try_dequeue(item)) left--;
    else look_away();
  }
}

static void consume_blocking(void *context) {
  auto *flow = static_cast<Flow<Blocking> *>(context);
  void *item;
  for (long left = flow->all; left > 0; left--) flow->queue.wait_dequeue(flow->consumer, item);
}

static const peer_queue queues[] = {
    {"moodycamel with tokens", make<Bare>, produce<Bare>, consume, destroy<Bare>},
    {"moodycamel", make<Bare>, produce_without, consume_without, destroy<Bare>},
    {},
};
static const peer_queue sleeping_queues[] = {
    {"moodycamel blocking", make<Blocking>, produce<Blocking>, consume_blocking, destroy<Blocking>},
    {},
};

extern "C" const peer_library *peer_open(const peer_harness *) {
  static peer_library library{};
  library.queues = queues;
  library.sleeping_queues = sleeping_queues;
  return &library;
}
