// Runs one program by lot over the public C API, and checks what the documentation promises to every program. Which
// programs there are: Grammar.h.
//
//   programs SEED [--without STEP,STEP...] [--rounds N] [--print]
#define _GNU_SOURCE
#include "Grammar.h"

#include <CScheduler/CScheduler.h>

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const csched_time US = 1000, MS = 1000000;
enum { MOST_BYTES = 64 << 10 }; // that several rounds may leave: caches of the library

static const program *whole;
static const program_node *nodes;
static const program_step *steps;

// A node of the program, at run time.
static struct place {
  csched_thread *thread;
  csched_pool *pool;
  csched_loop *loop;
  csched_serial *serial;
  csched_limit *limit;
  csched_target own, *target;
  atomic_int inside;     // how many jobs run, also those of queues on it
  atomic_int stop_begun; // of a root: the sum of 1 << each policy
} places[NODES];

// The state of a step.
static struct fate {
  csched_timer timer;
  csched_fork forked;
  csched_group group;
  csched_time deadline;
  csched_job *many; // of a step MANY or READ
  int ends[2];      // of a step READ: of its pipe
  atomic_int submitted, cancels, runs, drops, releases, has_ended, before_stop,
      is_known; // is_known: the submission has returned
} fates[STEPS];

// A step that locks uses one of these, and a word that names the thread inside.
static csched_lock lock = CSCHED_LOCK_INIT;
static csched_rlock rlock = CSCHED_RLOCK_INIT;
static csched_rwlock rwlock = CSCHED_RWLOCK_INIT;
static csched_semaphore semaphore; // of one unit
static struct {
  csched_lock lock;
  csched_cond changed;
  bool is_taken;
} monitor;
static atomic_int owners[PROGRAM_LOCK_KINDS];

static int root_of(int n) { return program_root_of(n); }
static bool is_exclusive(int n) { return program_is_exclusive(n); }

// MARK: oracles

static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "FAILED: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  abort();
}
#define REQUIRE(condition, ...)                                                                                        \
  do                                                                                                                   \
    if (!(condition)) fail(__VA_ARGS__);                                                                               \
  while (0)

static void do_body(int first);

// Does: counts a job that begins or ends on `n`, and checks exclusion and limits.
static void count_inside(int n, int change) {
  int from = NONE; // the node above `n`
  for (; n != NONE; from = n, n = nodes[n].base) {
    if (nodes[n].kind == BARRIER) {
      int others = atomic_load(&places[nodes[n].base].inside);
      if (change > 0) REQUIRE(others == 0, "a barrier of n%d begins beside %d jobs", nodes[n].base, others);
    }
    int now = atomic_fetch_add(&places[n].inside, change) + change;
    if (change < 0 || nodes[n].kind == POOL || nodes[n].kind == INLINE) continue;
    for (int b = 0; b < whole->node_count && nodes[n].kind == LIMIT; b++)
      if (nodes[b].kind == BARRIER && nodes[b].base == n && b != from)
        REQUIRE(atomic_load(&places[b].inside) == 0, "a job of n%d begins beside a barrier", n);
    int most = is_exclusive(n) ? 1 : nodes[n].most;
    REQUIRE(now <= most, "%d jobs at a time on n%d", now, n);
  }
}

static bool is_in_order(int n) { // jobs of one submitter run one after the other there
  return nodes[n].kind == SERIAL || nodes[n].kind == THREAD || nodes[n].kind == LOOP;
}

// Does: checks that all that was submitted before, beside step `i`, to the same node has ended.
static void check_order(int i) {
  if (!is_in_order(steps[i].node) || steps[i].kind == DELAY) return;
  int before = steps[i].parent < 0 ? whole->actor_first[-2 - steps[i].parent] : steps[steps[i].parent].first;
  for (; before != i; before = steps[before].next) {
    const program_step *each = &steps[before];
    if (each->is_out || each->kind != SUBMIT || each->node != steps[i].node || atomic_load(&fates[before].cancels) != 0)
      continue;
    REQUIRE(atomic_load(&fates[before].submitted) == 0 ||
                atomic_load(&fates[before].drops) + atomic_load(&fates[before].has_ended) > 0,
            "step %d runs before step %d", i, before);
  }
}

static __thread int node_here = NONE; // of the innermost work on this thread

// Does: in the limits of the work on this thread, counts it no more, or again: a job that waits for a queue on its
// limit lends it its permit.
static void count_permits(int change) {
  for (int n = node_here; n != NONE; n = nodes[n].base)
    if (nodes[n].kind == LIMIT && !is_exclusive(n)) atomic_fetch_add(&places[n].inside, change);
}

static void do_work(int i) {
  const program_step *own = &steps[i];
  int outer = node_here;
  node_here = own->node;
  count_inside(own->node, 1);
  REQUIRE(csched_target_current() == places[own->node].target, "step %d: another target is current", i);
  check_order(i);
  do_body(own->first);
  REQUIRE(csched_target_current() == places[own->node].target, "step %d: another target is current at its end", i);
  count_inside(own->node, -1);
  node_here = outer;
  atomic_store(&fates[i].has_ended, 1);
  if (own->kind != EXIT) return;
  if (own->amount % 2 == 0) pthread_exit(NULL);
  pthread_cancel(pthread_self());
  pthread_testcancel();
}

static int index_of(const csched_job *job) {
  return (int)((const struct fate *)(const void *)((const char *)job - offsetof(struct fate, timer)) - fates);
}

// Returns: the clock of a delayed step. The inline target has no cancellation for what is due at the end of its own
// clock.
static csched_clock clock_of(int i) {
  static const csched_clock clocks[] = {CSCHED_CLOCK_BOOT, CSCHED_CLOCK_WALL, CSCHED_CLOCK_MONOTONIC};
  return clocks[steps[i].amount % (steps[i].kind == FAR && nodes[root_of(steps[i].node)].kind == INLINE ? 2 : 3)];
}

// Does: what a job can do in a child of fork, on a target of the user's own, also inside of `fork()`: makes a queue on
// its target.
static void run_in_child(int n) {
  csched_serial *queue;
  if (nodes[n].kind != INLINE) return;
  REQUIRE(csched_serial_create(&queue, places[n].target) == 0, "no queue in a child");
  csched_serial_destroy(queue);
}

static void run(csched_job *job) {
  int i = index_of(job);
  if (program_is_child()) {
    run_in_child(root_of(steps[i].node));
    return;
  }
  REQUIRE(steps[i].kind != FAR, "step %d runs", i);
  REQUIRE(atomic_fetch_add(&fates[i].runs, 1) == 0 && atomic_load(&fates[i].drops) == 0, "step %d runs again", i);
  if (steps[i].kind == DELAY) REQUIRE(csched_clock_now(clock_of(i)) >= fates[i].deadline, "step %d is early", i);
  do_work(i);
}
static void drop(csched_job *job) {
  int i = index_of(job);
  if (program_is_child()) return;
  REQUIRE(atomic_fetch_add(&fates[i].drops, 1) == 0 && atomic_load(&fates[i].runs) == 0, "step %d is dropped again", i);
}
static void release(csched_job *job) {
  int i = index_of(job);
  if (program_is_child()) return;
  REQUIRE(atomic_fetch_add(&fates[i].releases, 1) == 0, "step %d is released twice", i);
  REQUIRE(atomic_load(&fates[i].runs) + atomic_load(&fates[i].drops) == 1, "step %d is released without an end", i);
  if (steps[i].parent >= 0 && (steps[steps[i].parent].kind == GROUP || steps[steps[i].parent].kind == GROUP_SOON))
    csched_group_leave(&fates[steps[i].parent].group); // last: the group may be gone
}
static const csched_job_type type = {run, drop, release};

static const csched_target_type inline_type;

// MARK: steps

static bool may_be_refused(int n) { return atomic_load(&places[root_of(n)].stop_begun) != 0; }

static void do_submit(int i) {
  const program_step *own = &steps[i];
  csched_timer_init(&fates[i].timer, &type, NULL);
  if (own->parent >= 0 && (steps[own->parent].kind == GROUP || steps[own->parent].kind == GROUP_SOON))
    csched_group_enter(&fates[own->parent].group, 1);
  static const csched_time ends[] = {CSCHED_FOREVER, CSCHED_FOREVER - 1, CSCHED_FOREVER / 2, (csched_time)1 << 62};
  csched_target *target = places[own->node].target;
  fates[i].deadline =
      own->kind == FAR ? ends[own->amount / 3 % 4] : csched_clock_now(clock_of(i)) + (csched_time)own->amount * US;
  atomic_store(&fates[i].submitted, 1);
  int result = own->kind != DELAY && own->kind != FAR ? csched_target_submit(target, &fates[i].timer.job)
               : own->amount % 2 == 0 && clock_of(i) == CSCHED_CLOCK_MONOTONIC
                   ? csched_target_submit_at(target, &fates[i].timer, fates[i].deadline, 0)
                   : csched_target_submit_at_clock(target, clock_of(i), &fates[i].timer, fates[i].deadline, 0);
  bool is_before = !may_be_refused(own->node);
  REQUIRE(result == 0 || (result == ECANCELED && !is_before), "step %d: submission returns %d", i, result);
  if (result == 0 && is_before && own->kind == SUBMIT) atomic_store(&fates[i].before_stop, 1);
  atomic_store(&fates[i].is_known, 1);
}

static void sync_body(void *own) {
  int i = (int)((struct fate *)own - fates);
  REQUIRE(atomic_fetch_add(&fates[i].runs, 1) == 0, "step %d runs again", i);
  do_work(i);
}

static void do_cancel(int i, bool waits) {
  struct fate *fate = &fates[steps[i].other];
  bool is_delayed = steps[steps[i].other].kind == DELAY;
  if (atomic_load(&fate->is_known) == 0) return;
  atomic_store(&fate->cancels, 1);
  csched_cancel_result result =
      is_delayed ? (waits ? csched_timer_cancel_and_wait(&fate->timer) : csched_timer_cancel(&fate->timer))
                 : (waits ? csched_job_cancel_and_wait(&fate->timer.job) : csched_job_cancel(&fate->timer.job));
  if (result == CSCHED_CANCEL_DROPPED) REQUIRE(atomic_load(&fate->drops) == 1, "step %d: not dropped", steps[i].other);
  if (waits)
    REQUIRE(atomic_load(&fate->runs) == 0 || atomic_load(&fate->has_ended) == 1, "step %d runs after a wait",
            steps[i].other);
}

static void run_fork(csched_job *job) {
  struct fate *fate = (struct fate *)(void *)((char *)job - offsetof(struct fate, timer));
  do_body(steps[fate - fates].first);
  atomic_store(&fate->has_ended, 1);
}
static void drop_nothing(csched_job *job) { (void)job; }
static const csched_job_type fork_type = {run_fork, drop_nothing, NULL};

typedef struct range_counts {
  atomic_int counts[100];
  csched_time span; // that a call takes; 0: next to none
  bool locks;
} range_counts;
static void count_range(void *context, size_t from, size_t to) {
  range_counts *range = context;
  for (; from < to && !program_is_child(); from++) { // in a child of fork, the lock may be a parent's thread's
    if (range->locks) csched_lock_lock(&lock);
    for (csched_time end = csched_now() + range->span; range->span > 0 && csched_now() < end;) {}
    atomic_fetch_add(&range->counts[from], 1);
    if (range->locks) csched_lock_unlock(&lock);
  }
}
static void count_up(void *count) { ++*(int *)count; }
static void count_down(csched_event *event, uint64_t value) {
  csched_latch_count_down(event->context, (uint32_t)value);
}
static void note_job(csched_job *job) { atomic_fetch_add((atomic_int *)job->context, 1); }
static const csched_job_type note_type = {note_job, drop_nothing, NULL}, drop_type = {drop_nothing, drop_nothing, NULL};

// Does: makes objects of all kinds, uses and ends them. A child of fork can do so, too.
static void use_new_objects(void) {
  csched_pool *pool;
  csched_thread *thread;
  csched_loop *loop;
  csched_serial *queue;
  csched_timer timer, other;
  csched_event event;
  csched_latch latch;
  csched_job job;
  int count = 0;
  atomic_int notes = 0;
  REQUIRE(csched_pool_create(&pool, &(csched_pool_options){.workers = 1}) == 0, "new pool");
  REQUIRE(csched_loop_create(&loop) == 0, "new loop");
  REQUIRE(csched_thread_start(&thread, NULL) == 0, "new thread");
  REQUIRE(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)) == 0, "new queue");
  csched_job_init(&job, &note_type, &notes);
  csched_timer_init(&timer, &note_type, &notes);
  REQUIRE(csched_target_submit(csched_serial_target(queue), &job) == 0, "new submit");
  REQUIRE(csched_target_submit_at(csched_thread_target(thread), &timer, csched_now() + 100 * US, 0) == 0, "new timer");
  REQUIRE(csched_serial_sync(queue, count_up, &count) == 0 && count == 1, "new sync");
  csched_timer_init(&other, &note_type, &notes);
  REQUIRE(csched_target_submit_at_clock(csched_loop_target(loop), CSCHED_CLOCK_BOOT, &other,
                                        csched_clock_now(CSCHED_CLOCK_BOOT) + 100 * US, 0) == 0,
          "new timer of another clock");
  csched_latch_init(&latch, 3);
  csched_event_init(&event, csched_serial_target(queue), CSCHED_MERGE_ADD, count_down, &latch);
  for (int each = 0; each < 3; each++) REQUIRE(csched_event_merge(&event, 1) == 0, "new event");
  csched_latch_wait(&latch);
  csched_event_cancel_and_wait(&event);
  csched_latch_destroy(&latch);
  while (atomic_load(&notes) < 3) usleep(50), csched_loop_run_ready(loop, 4);
  csched_loop_destroy(loop);
  csched_serial_destroy(queue);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  csched_thread_join(thread);
  csched_thread_destroy(thread);
  csched_pool_destroy(pool);
}

static void start_what_can_be(bool may_lack) {
  csched_pool *pool;
  csched_thread *thread;
  csched_timer timer;
  int error = csched_thread_start(&thread, NULL);
  REQUIRE(error == 0 || may_lack, "no thread: %d", error);
  if (error == 0) {
    csched_timer_init(&timer, &drop_type, NULL);
    error = csched_target_submit_at_clock(csched_thread_target(thread), CSCHED_CLOCK_WALL, &timer, CSCHED_FOREVER, 0);
    REQUIRE(error == 0 || may_lack, "no clock: %d", error);
    if (error == 0) csched_timer_cancel_and_wait(&timer);
    csched_thread_stop(thread, CSCHED_STOP_RUN);
    csched_thread_join(thread);
    csched_thread_destroy(thread);
  }
  error = csched_pool_create(&pool, NULL);
  REQUIRE(error == 0 || may_lack, "no pool: %d", error);
  if (error == 0) csched_pool_destroy(pool);
}

// Does: in a child without further descriptors, or memory, makes what can be made; then, when it has them again,
// everything.
static void lack_and_make(int resource, rlim_t least) {
  struct rlimit limit;
  getrlimit(resource, &limit);
  setrlimit(resource, &(struct rlimit){least, limit.rlim_max});
  start_what_can_be(true);
  setrlimit(resource, &limit);
  start_what_can_be(false);
  use_new_objects();
}
static void lack_descriptors(void) { lack_and_make(RLIMIT_NOFILE, 0); }
static void lack_memory(void) { lack_and_make(RLIMIT_AS, 0); }

static void do_fork(int i) {
#ifdef __SANITIZE_THREAD__
  return; // its child may start no thread
#endif
  static void (*const children[])(void) = {use_new_objects, lack_descriptors, lack_memory};
  int status = program_fork(children[steps[i].amount % 3]);
  REQUIRE(status == 0, "the child ends with %x", status);
}

enum { MANY_JOBS = 40000 };
static atomic_int many_left; // jobs of such steps
static void run_nothing(csched_job *job) { (void)job; }
static void count_many(csched_job *job) {
  (void)job;
  if (!program_is_child()) atomic_fetch_sub(&many_left, 1);
}
static const csched_job_type many_type = {run_nothing, run_nothing, count_many};

static void submit_many(int i) {
  fates[i].many = calloc(MANY_JOBS, sizeof *fates[i].many);
  atomic_fetch_add(&many_left, MANY_JOBS);
  for (int each = 0; each < MANY_JOBS; each++) {
    csched_job_init(&fates[i].many[each], &many_type, NULL);
    csched_target_submit(places[steps[i].node].target, &fates[i].many[each]);
  }
}

typedef struct last_thread {
  csched_serial *queue;
  int passes, count, result;
} last_thread;
static pthread_key_t last_key;

static void end_last(void *context) { // the destructor of the key
  last_thread *own = context;
  if (++own->passes < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(last_key, own);
  else own->result = csched_serial_sync(own->queue, count_up, &own->count);
}
static void *begin_last(void *context) {
  pthread_setspecific(last_key, context);
  return NULL;
}

// Does: makes the key after those of the library, whose destructors are called before its own in each pass.
static void make_last_key(void) {
  csched_target target = {&inline_type, NULL, NULL};
  csched_serial *queue;
  int count = 0;
  REQUIRE(csched_serial_create(&queue, &target) == 0, "no queue");
  REQUIRE(csched_serial_sync(queue, count_up, &count) == 0, "no sync");
  csched_serial_destroy(queue);
  pthread_key_create(&last_key, end_last);
}

static void *begin_nothing(void *context) { return context; }

static void sync_at_last(int i) {
#ifdef __SANITIZE_THREAD__
  return; // it ends its own data of a thread before the last destructors
#endif
  pthread_t thread;
  pthread_attr_t attributes;
  last_thread own = {.queue = places[steps[i].node].serial, .result = -1};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)64 << 20); // more than the C library keeps: so its memory goes …
  REQUIRE(pthread_create(&thread, &attributes, begin_last, &own) == 0, "no thread");
  pthread_join(thread, NULL);
  REQUIRE(pthread_create(&thread, &attributes, begin_nothing, NULL) == 0, "no thread");
  pthread_join(thread, NULL); // … here at the latest
  REQUIRE(own.count == (own.result == 0), "step %d: sync returns %d beside %d runs", i, own.result, own.count);
}

static void run_read(csched_job *job) {
  char byte;
  struct fate *fate = job->context;
  while (read(fate->ends[0], &byte, 1) != 1) {}
}
static void run_write(csched_job *job) {
  struct fate *fate = job->context;
  REQUIRE(write(fate->ends[1], "", 1) == 1, "no write");
}
static const csched_job_type read_type = {run_read, drop_nothing, count_many};
static const csched_job_type write_type = {run_write, run_write, count_many};

static void submit_read(int i) {
  csched_target *target = places[steps[i].node].target;
  csched_job *jobs = fates[i].many = calloc(2, sizeof *jobs);
  REQUIRE(pipe(fates[i].ends) == 0, "no pipe");
  atomic_fetch_add(&many_left, 2);
  csched_job_init(&jobs[0], &read_type, &fates[i]);
  csched_job_init(&jobs[1], &write_type, &fates[i]);
  for (int each = 0; each < 2; each++) csched_target_submit(target, &jobs[each]);
}

// A misuse by a thread of a child: what, and the thread's state.
static struct {
  int kind, output;
  csched_lock lock;
  csched_rlock rlock;
  csched_group group;
  csched_job job;
} misuse;

static void *misuse_here(void *is_cancelled) {
  if (is_cancelled != NULL) pthread_cancel(pthread_self());
  switch (misuse.kind % 3) {
  case 0: csched_lock_unlock(&misuse.lock); break;
  case 1: csched_rlock_unlock(&misuse.rlock); break;
  default: csched_group_leave(&misuse.group);
  }
  return NULL;
}
static void misuse_in_job(csched_job *job) { misuse_here(job->context); }
static const csched_job_type misuse_type = {misuse_in_job, drop_nothing, NULL};

static void misuse_in_child(void) {
  pthread_t thread;
  csched_thread *with_loop;
  dup2(misuse.output, 2);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  misuse.lock = (csched_lock)CSCHED_LOCK_INIT;
  misuse.rlock = (csched_rlock)CSCHED_RLOCK_INIT;
  csched_group_init(&misuse.group);
  csched_lock_lock(&misuse.lock);
  csched_rlock_lock(&misuse.rlock);
  if (misuse.kind / 3 % 2 == 0) {
    if (pthread_create(&thread, NULL, misuse_here, misuse.kind / 6 % 2 == 0 ? NULL : &misuse) == 0)
      pthread_join(thread, NULL);
  } else if (csched_thread_start(&with_loop, &(csched_thread_options){.stack_size = misuse.kind / 6 % 2}) == 0) {
    csched_job_init(&misuse.job, &misuse_type, NULL);
    csched_target_submit(csched_thread_target(with_loop), &misuse.job);
    csched_thread_stop(with_loop, CSCHED_STOP_RUN);
    csched_thread_join(with_loop);
  }
}

static void do_misuse(int i) {
#ifdef __SANITIZE_THREAD__
  return; // its child may start no thread
#endif
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  int ends[2];
  char said[4096] = "";
  REQUIRE(pipe(ends) == 0, "no pipe");
  pthread_mutex_lock(&one_at_a_time);
  misuse.kind = steps[i].amount, misuse.output = ends[1];
  int status = program_fork(misuse_in_child);
  pthread_mutex_unlock(&one_at_a_time);
  close(ends[1]);
  REQUIRE(read(ends[0], said, sizeof said - 1) >= 0, "no message");
  close(ends[0]);
  REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, "Scheduler: ") != NULL,
          "step %d: after a misuse the child ends with %x, and says: %s", i, status, said);
}

// Does: uses most of the least stack for some milliseconds, while stacks are sampled.
static __attribute__((noinline)) void use_stack(void) {
  volatile char used[10000];
  for (csched_time end = csched_now() + 5 * MS; csched_now() < end;)
    for (size_t each = 0; each < sizeof used; each += 512) used[each]++;
}

static bool has_least_stack(int n) {
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
  return false; // its frames are larger
#else
  return whole->is_sampled && nodes[n].kind == THREAD && n % 2 == 1;
#endif
}

static void lock_kind(int kind) {
  switch (kind) {
  case PROGRAM_LOCK_PLAIN: csched_lock_lock(&lock); break;
  case PROGRAM_LOCK_RECURSIVE: csched_rlock_lock(&rlock), csched_rlock_lock(&rlock); break;
  case PROGRAM_LOCK_READ: csched_rwlock_lock_read(&rwlock); break;
  case PROGRAM_LOCK_WRITE: csched_rwlock_lock_write(&rwlock); break;
  case PROGRAM_LOCK_UNIT: csched_semaphore_wait(&semaphore); break;
  default:
    csched_lock_lock(&monitor.lock);
    while (monitor.is_taken) csched_cond_wait(&monitor.changed, &monitor.lock);
    monitor.is_taken = true;
    csched_lock_unlock(&monitor.lock);
  }
}

static void unlock_kind(int kind) {
  switch (kind) {
  case PROGRAM_LOCK_PLAIN: csched_lock_unlock(&lock); break;
  case PROGRAM_LOCK_RECURSIVE: csched_rlock_unlock(&rlock), csched_rlock_unlock(&rlock); break;
  case PROGRAM_LOCK_READ: csched_rwlock_unlock_read(&rwlock); break;
  case PROGRAM_LOCK_WRITE: csched_rwlock_unlock_write(&rwlock); break;
  case PROGRAM_LOCK_UNIT: csched_semaphore_signal(&semaphore, 1); break;
  default:
    csched_lock_lock(&monitor.lock);
    monitor.is_taken = false;
    csched_lock_unlock(&monitor.lock);
    csched_cond_signal(&monitor.changed);
  }
}

static void do_step(int i) {
  const program_step *own = &steps[i];
  int n = own->node;
  switch (own->kind) {
  case SUBMIT:
  case EXIT:
  case DELAY: do_submit(i); break;
  case FAR:
    do_submit(i);
    csched_timer_cancel_and_wait(&fates[i].timer);
    REQUIRE(atomic_load(&fates[i].drops) == 1, "step %d is not dropped", i);
    break;
  case MAKE: use_new_objects(); break;
  case MANY: submit_many(i); break;
  case LAST: sync_at_last(i); break;
  case READ: submit_read(i); break;
  case MISUSE: do_misuse(i); break;
  case SYNC: {
    bool may_be = may_be_refused(n);
    count_permits(-1);
    int result = csched_serial_sync(places[n].serial, sync_body, &fates[i]);
    count_permits(1);
    REQUIRE(result == 0 || (result == ECANCELED && (may_be || may_be_refused(n))), "step %d: sync returns %d", i,
            result);
    REQUIRE(atomic_load(&fates[i].has_ended) == (result == 0), "step %d: sync returns %d beside its body", i, result);
    break;
  }
  case CANCEL: do_cancel(i, false); break;
  case CANCEL_AND_WAIT: do_cancel(i, true); break;
  case SLEEP:
    usleep((useconds_t)own->amount);
    if (node_here != NONE && has_least_stack(node_here)) use_stack();
    break;
  case LOCK: {
    int kind = own->amount % PROGRAM_LOCK_KINDS;
    lock_kind(kind);
    int others = atomic_fetch_add(&owners[kind], 1), writers = atomic_load(&owners[PROGRAM_LOCK_WRITE]),
        readers = atomic_load(&owners[PROGRAM_LOCK_READ]);
    REQUIRE(kind == PROGRAM_LOCK_READ ? writers == 0 : others == 0, "step %d: %d others have the lock of kind %d", i,
            others, kind);
    REQUIRE(kind != PROGRAM_LOCK_WRITE || readers == 0, "step %d: %d readers have the lock", i, readers);
    do_body(own->first);
    atomic_fetch_sub(&owners[kind], 1);
    unlock_kind(kind);
    break;
  }
  case SUSPEND:
    csched_serial_suspend(places[n].serial);
    do_body(own->first);
    csched_serial_resume(places[n].serial);
    break;
  case GROUP:
  case GROUP_SOON:
    csched_group_init(&fates[i].group);
    do_body(own->first);
    if (own->kind == GROUP_SOON) csched_group_wait_until(&fates[i].group, csched_now() + (csched_time)own->amount * US);
    csched_group_wait(&fates[i].group);
    for (int m = own->first; m != NONE; m = steps[m].next)
      if (atomic_load(&fates[m].submitted) != 0)
        REQUIRE(atomic_load(&fates[m].releases) == 1, "step %d: the group waits not for step %d", i, m);
    csched_group_destroy(&fates[i].group);
    break;
  case APPLY: {
    range_counts range = {.locks = own->amount % 2 == 0 && (own->parent < 0 || steps[own->parent].kind != LOCK),
                          .span = (csched_time)(own->amount % 3) * 10 * US};
    csched_apply(places[n].target, 1 + (size_t)own->amount % 4, 100, (size_t)own->amount % 7, count_range, &range);
    for (int each = 0; each < 100; each++)
      REQUIRE(atomic_load(&range.counts[each]) == 1, "step %d: number %d is called %d times", i, each,
              atomic_load(&range.counts[each]));
    break;
  }
  case FORKS:
    csched_job_init(&fates[i].timer.job, &fork_type, NULL);
    csched_pool_fork(&fates[i].forked, &fates[i].timer.job);
    csched_pool_wait(&fates[i].forked);
    REQUIRE(atomic_load(&fates[i].has_ended) == 1, "step %d: joined before its end", i);
    break;
  case STOP: {
    csched_stop_policy policy = own->amount == 0 ? CSCHED_STOP_RUN : CSCHED_STOP_DROP;
    atomic_fetch_or(&places[n].stop_begun, 1 << policy);
    if (nodes[n].kind == THREAD) csched_thread_stop(places[n].thread, policy);
    else csched_pool_stop(places[n].pool, policy);
    break;
  }
  case FORK: do_fork(i); break;
  default: break;
  }
}

static void do_body(int first) {
  for (int i = first; i != NONE; i = steps[i].next)
    if (!steps[i].is_out) do_step(i);
}

// MARK: the world

static int deliver_inline(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static atomic_int inline_timers;
typedef struct late {
  csched_timer *timer;
  csched_time deadline;
} late;
static void *deliver_late(void *context) {
  late late = *(struct late *)context;
  free(context);
  while (csched_now() < late.deadline) usleep(20);
  csched_target *to = late.timer->target; // the inline target, or a queue or limit on it
  to->type->deliver(to, &late.timer->job);
  atomic_fetch_sub(&inline_timers, 1);
  return NULL;
}
static int deliver_inline_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  (void)target, (void)leeway;
  late *made = malloc(sizeof *made);
  *made = (late){timer, deadline};
  pthread_t thread;
  atomic_fetch_add(&inline_timers, 1);
  REQUIRE(pthread_create(&thread, NULL, deliver_late, made) == 0, "no thread");
  pthread_detach(thread);
  return 0;
}
static const csched_target_type inline_type = {.deliver = deliver_inline, .deliver_at = deliver_inline_at};

static void begin_world(void) {
  for (int n = 0; n < whole->node_count; n++) {
    const program_node *each = &nodes[n];
    struct place *place = &places[n];
    csched_target *base = each->base != NONE ? places[each->base].target : NULL;
    int error = 0;
    if (!each->is_used) continue;
    switch (each->kind) {
    case THREAD:
      error = csched_thread_start(&place->thread, &(csched_thread_options){.stack_size = has_least_stack(n)});
      if (error == 0) place->target = csched_thread_target(place->thread);
      break;
    case POOL:
      error = csched_pool_create(&place->pool,
                                 &(csched_pool_options){.workers = (size_t)each->most,
                                                        .most_threads = each->is_hard ? (size_t)each->most : 0});
      if (error == 0) place->target = csched_pool_target(place->pool, (csched_priority)(n % 4));
      break;
    case LOOP:
      error = csched_loop_create(&place->loop);
      if (error == 0) place->target = csched_loop_target(place->loop);
      break;
    case INLINE:
      place->own.type = &inline_type;
      place->target = &place->own;
      break;
    case SERIAL:
      error = csched_serial_create(&place->serial, base);
      if (error == 0) place->target = csched_serial_target(place->serial);
      break;
    case LIMIT:
      error = csched_limit_create(&place->limit, base, each->most);
      if (error == 0) place->target = csched_limit_target(place->limit);
      break;
    case BARRIER: place->target = csched_limit_barrier_target(places[each->base].limit); break;
    default: break;
    }
    REQUIRE(error == 0, "n%d: error %d", n, error);
  }
}

static bool has_ended(int i) {
  const program_step *each = &steps[i];
  return (each->kind != SUBMIT && each->kind != DELAY && each->kind != EXIT && each->kind != FAR) ||
         atomic_load(&fates[i].submitted) == 0 || atomic_load(&fates[i].releases) == 1;
}
static bool have_all_ended(void) {
  for (int i = 0; i < whole->step_count; i++)
    if (!has_ended(i)) return false;
  return atomic_load(&inline_timers) == 0 && atomic_load(&many_left) == 0;
}

static pthread_barrier_t start;
static void *act(void *actor) {
  pthread_barrier_wait(&start);
  do_body(whole->actor_first[(intptr_t)actor]);
  return NULL;
}

// Does: waits until the figures of each node say what has happened there. A job that has ended its thread may count as
// run, or not.
static void check_statistics(void) {
  for (int n = 0; n < whole->node_count; n++) {
    csched_statistics figures;
    uint64_t exits = 0;
    if (places[n].target == NULL) continue;
    for (int i = 0; i < whole->step_count; i++) exits += steps[i].kind == EXIT && steps[i].node == n;
    for (int tries = 0;; tries++) {
      csched_target_statistics(places[n].target, &figures);
      uint64_t ends = figures.run + figures.cancelled + figures.dropped;
      if (figures.waiting == 0 && ends <= figures.submitted && figures.submitted <= ends + exits) break;
      REQUIRE(tries < 5000, "n%d: %llu submitted, %llu run, %llu cancelled, %llu dropped, %llu waiting", n,
              (unsigned long long)figures.submitted, (unsigned long long)figures.run,
              (unsigned long long)figures.cancelled, (unsigned long long)figures.dropped,
              (unsigned long long)figures.waiting);
      usleep(1000);
    }
  }
}

static void end_world(void) {
  for (int i = 0; i < whole->step_count; i++) {
    const program_step *each = &steps[i];
    int root = each->node != NONE ? root_of(each->node) : NONE;
    if (each->kind != SUBMIT || atomic_load(&fates[i].before_stop) == 0 || atomic_load(&fates[i].cancels) != 0)
      continue;
    bool is_suspended = false;
    for (int n = each->node; n != NONE; n = nodes[n].base)
      is_suspended = is_suspended || nodes[n].is_suspended_somewhere;
    if (is_suspended || (atomic_load(&places[root].stop_begun) & 1 << CSCHED_STOP_DROP) != 0) continue;
    REQUIRE(atomic_load(&fates[i].has_ended) == 1, "step %d was accepted before the stop, and did not run", i);
  }
  for (int n = whole->node_count - 1; n >= 0; n--) {
    struct place *place = &places[n];
    if (place->serial != NULL) csched_serial_destroy(place->serial);
    if (place->limit != NULL) csched_limit_destroy(place->limit);
    if (place->loop != NULL) csched_loop_destroy(place->loop);
    if (place->thread != NULL) {
      csched_thread_stop(place->thread, CSCHED_STOP_RUN);
      REQUIRE(csched_thread_join(place->thread) == 0, "join of n%d", n);
      csched_thread_destroy(place->thread);
    }
    if (place->pool != NULL) {
      csched_pool_stop(place->pool, CSCHED_STOP_RUN);
      REQUIRE(csched_pool_join(place->pool) == 0, "join of n%d", n);
      csched_pool_destroy(place->pool);
    }
  }
}

// Does: forgets the round that has ended.
static void clear_world(void) {
  for (int i = 0; i < whole->step_count; i++) {
    if (steps[i].kind == READ && fates[i].many != NULL) close(fates[i].ends[0]), close(fates[i].ends[1]);
    free(fates[i].many);
  }
  memset(fates, 0, sizeof fates);
  memset(places, 0, sizeof places);
}

// The system resources of a process.
typedef struct holdings {
  int threads, descriptors;
  size_t bytes; // allocated
} holdings;

static int entry_count(const char *folder) {
  int count = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *each; (each = readdir(entries)) != NULL;) count += each->d_name[0] != '.';
  closedir(entries);
  return count;
}

static holdings look_at_holdings(void) {
  struct mallinfo2 memory = mallinfo2();
  return (holdings){entry_count("/proc/self/task"), entry_count("/proc/self/fd"), memory.uordblks + memory.hblkhd};
}

static void play(void) {
  pthread_t actors[ACTORS];
  begin_world();
  pthread_barrier_init(&start, NULL, (unsigned)whole->actor_count);
  for (intptr_t a = 1; a < whole->actor_count; a++)
    REQUIRE(pthread_create(&actors[a], NULL, act, (void *)a) == 0, "no thread");
  act((void *)0);
  for (int a = 1, joined = 1;
       joined < whole->actor_count || !have_all_ended();) { // the loops of this actor continue meanwhile
    bool has_loop = false;
    for (int n = 0; n < whole->node_count; n++)
      if (places[n].loop != NULL) has_loop = true, csched_loop_run_ready(places[n].loop, 16);
    if (joined < whole->actor_count && pthread_tryjoin_np(actors[a], NULL) == 0) a++, joined++;
    else if (has_loop) usleep(20);
    else usleep(100);
  }
  pthread_barrier_destroy(&start);
  if (whole->is_observed) check_statistics();
  end_world();
  if (whole->step_count % 4 == 0) csched_shutdown(CSCHED_STOP_RUN); // then the next round begins anew
}

// Does: starts the clocks' thread, which has descriptors of its own. Else the first timer that is not overdue does, in
// any round.
static void start_clocks(void) {
  csched_target target = {&inline_type, NULL, NULL};
  csched_timer timer;
  csched_timer_init(&timer, &note_type, NULL);
  REQUIRE(csched_target_submit_at_clock(&target, CSCHED_CLOCK_BOOT, &timer, CSCHED_FOREVER, 0) == 0, "no clocks");
  csched_timer_cancel_and_wait(&timer);
}

static void ignore_report(void *context, const csched_watch_report *report) { (void)context, (void)report; }

int main(int count, char **words) {
  bool prints = false;
  int rounds = 1;
  const char *without = NULL;
  if (count < 2) return 2;
  for (int i = 2; i < count; i++) {
    if (strcmp(words[i], "--print") == 0) prints = true;
    if (strcmp(words[i], "--without") == 0 && i + 1 < count) without = words[++i];
    if (strcmp(words[i], "--rounds") == 0 && i + 1 < count) rounds = atoi(words[++i]);
  }
  whole = make_program(strtoull(words[1], NULL, 10), PROGRAM_OF_C, without);
  nodes = whole->nodes;
  steps = whole->steps;
  if (prints) {
    print_program();
    return 0;
  }
  csched_dump_on_signal(SIGTERM, 2); // the runner sends it to a program that does not end
  csched_semaphore_init(&semaphore, 1);
  make_last_key();
  if (rounds > 1) start_clocks();
  int threads = look_at_holdings().threads - (int)csched_clocks_threads_();
  holdings first = {0};
  if (whole->is_observed) csched_statistics_begin();
  if (whole->is_sampled) {
    REQUIRE(csched_watch_stacks(SIGPROF) == 0, "no samples");
    REQUIRE(csched_watch_begin(MS, ignore_report, NULL) == 0, "no watch");
  }
  for (int round = 1; round <= rounds; round++) {
    play();
    clear_world();
    // Threads that end, and those of the watch, have more for a moment.
    for (int i = 0;; i++) {
      holdings now = look_at_holdings();
      int allowed = threads + whole->is_sampled + (int)csched_clocks_threads_(); // these stay
      if (round <= 2) first = (holdings){0, now.descriptors, now.bytes};         // with what the library makes once
      if (now.threads <= allowed && now.descriptors <= first.descriptors && now.bytes <= first.bytes + MOST_BYTES)
        break;
      REQUIRE(i < 5000, "left are %d threads, %d descriptors, %zd bytes", now.threads - allowed,
              now.descriptors - first.descriptors, (ssize_t)(now.bytes - first.bytes));
      usleep(1000);
    }
  }
  if (whole->is_observed) csched_statistics_end();
  if (whole->is_sampled) csched_watch_end();
  return 0;
}
