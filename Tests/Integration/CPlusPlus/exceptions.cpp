// Exceptions out of jobs, runs and syncs: each is caught around the call, and the unwound loop or queue continues. Some
// pass a frame of C, which has no clean-ups (exceptions.c), some are thrown and caught on a fiber's stack.
#include <CScheduler/CScheduler.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

extern "C" {
csched_run_result run_in_c(csched_loop *loop);
int sync_in_c(csched_serial *queue, void (*body)(void *), void *context);
void trampoline_in_c(csched_job *job);
}

namespace {
void check(bool holds, int at) {
  if (holds) return;
  std::printf("exceptions.cpp:%d: does not hold\n", at);
  std::exit(1);
}
#define CHECK(condition) check((condition), __LINE__)

struct Job : csched_job { // counts its calls
  int ran = 0, dropped = 0, released = 0;
  void (*body)(Job *);
  explicit Job(void (*body)(Job *) = nullptr) : body(body) {
    static const csched_job_type type = {run, drop, release};
    csched_job_init(this, &type, nullptr);
  }
  static void run(csched_job *job) {
    Job *self = static_cast<Job *>(job);
    self->ran++;
    if (self->body != nullptr) self->body(self);
  }
  static void drop(csched_job *job) { static_cast<Job *>(job)->dropped++; }
  static void release(csched_job *job) { static_cast<Job *>(job)->released++; }
  bool has_ended() const { return ran == 1 && dropped == 0 && released == 1; }
};

void refuse(Job *) { throw 42; }
void refuse_body(void *) { throw 43; }
void nothing(void *) {}

// From deeper than the frames that are gone.
__attribute__((noinline)) csched_target *current_from(int depth) {
  char room[256];
  std::snprintf(room, sizeof room, "%d", depth);
  return room[0] != '0' ? current_from(depth - 1) : csched_target_current();
}
bool is_outside() {
  return current_from(20) == nullptr && csched_loop_current() == nullptr && csched_trampoline_is_required();
}

template <typename Call> int thrown_by(Call call) {
  try {
    call();
  } catch (int number) {
    return number;
  }
  return 0;
}

// MARK: one of each

void trampolines() {
  static Job *second;
  Job first([](Job *) {
    csched_trampoline_run(second);
    throw 42;
  }),
      after, next;
  second = &after;
  CHECK(thrown_by([&] { csched_trampoline_run(&first); }) == 42);
  CHECK(is_outside() && first.has_ended() && after.ran == 0);
  csched_trampoline_run(&next);
  CHECK(next.has_ended() && after.has_ended());
  Job left(refuse);
  CHECK(csched_trampoline_enter());
  csched_trampoline_run(&left);
  CHECK(thrown_by([] { csched_trampoline_leave(); }) == 42);
  CHECK(csched_target_current() == nullptr && csched_trampoline_is_required() && left.has_ended());
}

void loops() {
  csched_loop *loop;
  CHECK(csched_loop_create(&loop) == 0);
  csched_activation activation;
  csched_activation_init(&activation, loop);
  for (int way = 0; way < 5; way++) {
    Job thrower(refuse), next;
    csched_target_submit(csched_loop_target(loop), &thrower);
    csched_target_submit(csched_loop_target(loop), &next);
    CHECK(thrown_by([&] {
            if (way == 0) csched_loop_run(loop);
            if (way == 1) csched_loop_run_until(loop, CSCHED_FOREVER);
            if (way == 2) csched_loop_run_once(loop, CSCHED_FOREVER);
            if (way == 3) csched_loop_run_ready(loop, 2);
            if (way == 4) csched_loop_run_activation(loop, &activation, CSCHED_FOREVER);
          }) == 42);
    CHECK(is_outside() && thrower.has_ended() && csched_job_is_idle(&thrower) && next.ran == 0);
    CHECK(csched_loop_run_ready(loop, 8) == 1 && next.has_ended());
  }
  static csched_loop *of_job;
  of_job = loop;
  Job outer([](Job *) { // caught inside of a job, around a nested run
    Job inner(refuse);
    csched_target_submit(csched_loop_target(of_job), &inner);
    CHECK(thrown_by([] { csched_loop_run(of_job); }) == 42);
    CHECK(inner.has_ended() && csched_loop_current() == of_job);
    CHECK(current_from(20) == csched_loop_target(of_job));
  });
  csched_target_submit(csched_loop_target(loop), &outer);
  CHECK(csched_loop_run_ready(loop, 8) == 1 && outer.has_ended() && is_outside());
  Job last(refuse);
  csched_target_submit(csched_loop_target(loop), &last);
  CHECK(thrown_by([&] { csched_loop_run(loop); }) == 42);
  csched_loop_destroy(loop);
  CHECK(last.has_ended());
}

struct Queues {
  csched_pool *pool;
  csched_serial *lower, *upper;
  Queues() {
    CHECK(csched_pool_create(&pool, nullptr) == 0);
    CHECK(csched_serial_create(&lower, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)) == 0);
    CHECK(csched_serial_create(&upper, csched_serial_target(lower)) == 0);
  }
  ~Queues() {
    csched_serial_destroy(upper);
    csched_serial_destroy(lower);
    csched_pool_destroy(pool);
  }
  void run_all() { // without a sync, or another call that checks for unwound frames
    for (csched_serial *queue : {lower, upper}) {
      Job job;
      csched_target_submit(csched_serial_target(queue), &job);
      for (int i = 0; i < 10000 && !csched_job_is_idle(&job); i++) usleep(1000);
      CHECK(job.ran == 1);
      csched_target_inside inside;
      while (!csched_serial_try_enter(queue, &inside)) usleep(100); // until the worker has released the queue
      csched_serial_leave(queue, &inside);
    }
  }
};

void syncs() {
  Queues queues;
  CHECK(thrown_by([&] { csched_serial_sync(queues.upper, refuse_body, nullptr); }) == 43);
  CHECK(is_outside());
  queues.run_all();
  CHECK(csched_serial_sync(
            queues.upper,
            [](void *context) { // caught inside of another sync
              csched_pool *pool = static_cast<csched_pool *>(context);
              csched_serial *other;
              CHECK(csched_serial_create(&other, csched_pool_target(pool, CSCHED_PRIORITY_LOW)) == 0);
              csched_target *mine = csched_target_current();
              CHECK(thrown_by([&] { csched_serial_sync(other, refuse_body, nullptr); }) == 43);
              CHECK(current_from(20) == mine);
              CHECK(csched_serial_sync(other, nothing, nullptr) == 0);
              csched_serial_destroy(other);
            },
            queues.pool) == 0);
  CHECK(is_outside());
  queues.run_all();
}

// More frame records than fit into one block.
void deep() {
  static std::vector<csched_serial *> queues;
  static csched_pool *pool;
  CHECK(csched_pool_create(&pool, nullptr) == 0);
  queues.resize(60);
  for (csched_serial *&queue : queues)
    CHECK(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)) == 0);
  struct Level {
    static void enter(void *number) {
      size_t next = reinterpret_cast<size_t>(number);
      if (next == queues.size()) throw 44;
      csched_serial_sync(queues[next], enter, reinterpret_cast<void *>(next + 1));
    }
  };
  for (int round = 0; round < 3; round++) {
    CHECK(thrown_by([] { Level::enter(nullptr); }) == 44);
    CHECK(is_outside());
    for (csched_serial *queue : queues) CHECK(csched_serial_sync(queue, nothing, nullptr) == 0);
  }
  for (csched_serial *queue : queues) csched_serial_destroy(queue);
  csched_pool_destroy(pool);
}

void own_target() {
  csched_target_type type = {};
  type.deliver = [](csched_target *target, csched_job *job) {
    csched_target_perform(target, job);
    return 0;
  };
  csched_target target = {&type, nullptr, nullptr};
  Job thrower(refuse), next;
  CHECK(thrown_by([&] { csched_target_submit(&target, &thrower); }) == 42);
  CHECK(is_outside() && thrower.has_ended());
  csched_target_submit(&target, &next);
  CHECK(next.has_ended());
}

void through_c() {
  csched_loop *loop;
  CHECK(csched_loop_create(&loop) == 0);
  Queues queues;
  Job thrower(refuse), refuser(refuse), next;
  csched_target_submit(csched_loop_target(loop), &thrower);
  CHECK(thrown_by([&] { run_in_c(loop); }) == 42);
  CHECK(csched_target_current() == nullptr && csched_loop_current() == nullptr && thrower.has_ended());
  CHECK(thrown_by([&] { sync_in_c(queues.upper, refuse_body, nullptr); }) == 43);
  queues.run_all();
  CHECK(thrown_by([&] { trampoline_in_c(&refuser); }) == 42);
  csched_trampoline_run(&next);
  CHECK(next.has_ended() && refuser.has_ended());
  csched_loop_destroy(loop);
}

// The end of the thread runs the clean-ups of an exception, and also closes the loop.
void thread_end() {
  static csched_loop *loop;
  static csched_serial *queue;
  Queues queues;
  Job ending([](Job *) {
    csched_serial_sync(
        queue, [](void *) { pthread_exit(nullptr); }, nullptr);
  }),
      next, late;
  static Job *jobs[2];
  jobs[0] = &ending, jobs[1] = &next;
  queue = queues.upper;
  pthread_t thread;
  auto main = [](void *) -> void * {
    CHECK(csched_loop_create(&loop) == 0);
    for (Job *job : jobs) csched_target_submit(csched_loop_target(loop), job);
    csched_loop_run(loop);
    return nullptr;
  };
  CHECK(pthread_create(&thread, nullptr, main, nullptr) == 0 && pthread_join(thread, nullptr) == 0);
  CHECK(ending.has_ended() && next.ran == 0 && next.dropped == 1 && next.released == 1);
  CHECK(csched_target_submit(csched_loop_target(loop), &late) == ECANCELED && late.dropped == 1);
  csched_loop_destroy(loop);
  queues.run_all();
}

// MARK: on a fiber

ucontext_t own, fiber;
void fiber_main() {
  loops();
  syncs();
  trampolines();
  swapcontext(&fiber, &own);
}
void on_fiber() {
  std::vector<char> stack(512 * 1024);
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack.data();
  fiber.uc_stack.ss_size = stack.size();
  fiber.uc_link = nullptr;
  makecontext(&fiber, fiber_main, 0);
  swapcontext(&own, &fiber);
  CHECK(is_outside());
}
} // namespace

int main() {
  alarm(50);
  for (int round = 0; round < 3; round++) {
    trampolines();
    loops();
    syncs();
    deep();
    own_target();
    through_c();
    thread_end();
    on_fiber();
  }
  std::puts("queues and loops that exceptions left continue");
  return 0;
}
