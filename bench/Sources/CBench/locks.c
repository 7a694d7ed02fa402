// Threads that contend for a lock: ours, the C library's, and two plain ones.
#define _GNU_SOURCE
#include "kit.h"
#include "lock_loop.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: contenders

static struct {
  _Alignas(64) csched_lock ours;
  _Alignas(64) pthread_mutex_t normal;
  _Alignas(64) pthread_mutex_t adaptive;
  _Alignas(64) atomic_bool spin;
  _Alignas(64) long guarded;
} shared = {.normal = PTHREAD_MUTEX_INITIALIZER, .adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};

static void lock_ours(void *lock) { csched_lock_lock(lock); }
static void unlock_ours(void *lock) { csched_lock_unlock(lock); }
static void use_ours(peer_task *task) { lock_loop(task, lock_ours, unlock_ours, &shared.ours); }

static void lock_mutex(void *mutex) { pthread_mutex_lock(mutex); }
static void unlock_mutex(void *mutex) { pthread_mutex_unlock(mutex); }
static void use_normal(peer_task *task) { lock_loop(task, lock_mutex, unlock_mutex, &shared.normal); }
static void use_adaptive(peer_task *task) { lock_loop(task, lock_mutex, unlock_mutex, &shared.adaptive); }

static void lock_spin(void *lock) {
  while (atomic_exchange_explicit((atomic_bool *)lock, true, memory_order_acquire))
    while (atomic_load_explicit((atomic_bool *)lock, memory_order_relaxed)) CSCHED_CPU_RELAX();
}
static void unlock_spin(void *lock) { atomic_store_explicit((atomic_bool *)lock, false, memory_order_release); }
static void use_spin(peer_task *task) { lock_loop(task, lock_spin, unlock_spin, &shared.spin); }

// A lock in order of arrival: each thread takes a number, and sleeps on a word of its own until the lock is handed to
// that number.
enum { PLACES = 256, LOOKS = 100 }; // at most so many threads

static struct {
  _Alignas(64) atomic_uint next;
  unsigned turn; // the owner's
  struct {
    _Alignas(64) atomic_uint turn;
    atomic_bool sleeps;
  } place[PLACES];
} fifo;

static void lock_fifo(void *unused) {
  (void)unused;
  unsigned mine = atomic_fetch_add(&fifo.next, 1), seen;
  atomic_uint *turn = &fifo.place[mine % PLACES].turn;
  for (int i = 0; i < LOOKS && atomic_load_explicit(turn, memory_order_acquire) != mine; i++) CSCHED_CPU_RELAX();
  while ((seen = atomic_load(turn)) != mine) {
    atomic_store(&fifo.place[mine % PLACES].sleeps, true);
    if ((seen = atomic_load(turn)) == mine) break;
    syscall(SYS_futex, turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  }
  atomic_store_explicit(&fifo.place[mine % PLACES].sleeps, false, memory_order_relaxed);
  fifo.turn = mine;
}

static void unlock_fifo(void *unused) {
  (void)unused;
  unsigned next = fifo.turn + 1;
  atomic_uint *turn = &fifo.place[next % PLACES].turn;
  atomic_store(turn, next);
  if (atomic_load(&fifo.place[next % PLACES].sleeps)) syscall(SYS_futex, turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
static void use_fifo(peer_task *task) { lock_loop(task, lock_fifo, unlock_fifo, NULL); }

const peer_lock ours_locks[] = {{"csched_lock", use_ours}, {0}};
const peer_lock plain_locks[] = {
    {"pthread", use_normal}, {"adaptive", use_adaptive}, {"FIFO hand-off", use_fifo}, {"spin lock", use_spin}, {0}};

// MARK: the harness

static const peer_lock *lock_at(int index) { return contender(CBENCH_LOCKS, index); }

static peer_task a_task(long count, int inside, int outside) {
  return (peer_task){.count = count,
                     .inside = inside,
                     .outside = outside,
                     .work = cbench_work,
                     .now = csched_now,
                     .guarded = &shared.guarded};
}

double cbench_lock_alone(int lock, long count) {
  peer_task task = a_task(count, 0, 0);
  csched_time start = csched_now();
  lock_at(lock)->loop(&task);
  return since(start);
}

typedef struct contest {
  const peer_lock *lock;
  peer_task tasks[64];
  int threads, over;
  double seconds;
  csched_time began, ended;
} contest;

// The last one keeps the time: all others go on until it says stop, so that no thread is alone at the end because the
// others have finished.
static void take_part(void *context, cbench_crew *crew, int index) {
  contest *contest = context;
  csched_time began = cbench_crew_start(crew, index);
  if (index < contest->threads) {
    contest->lock->loop(&contest->tasks[index]);
    return;
  }
  contest->began = began;
  usleep((useconds_t)(contest->seconds * 1e6));
  contest->ended = csched_now();
  __atomic_store_n(&contest->over, 1, __ATOMIC_RELAXED);
}

cbench_waits cbench_lock_contended(int lock, int threads, cbench_placement placement, double seconds, int inside,
                                   int outside, bool looks) {
  cbench_work(1); // calibrates
  contest *contest = touched(sizeof *contest);
  contest->lock = lock_at(lock);
  contest->threads = threads;
  contest->seconds = seconds;
  for (int i = 0; i < threads; i++) {
    contest->tasks[i] = a_task(0, inside, outside);
    contest->tasks[i].over = &contest->over;
    contest->tasks[i].looks = looks;
  }
  cbench_crew_run(threads + 1, placement, take_part, contest);
  cbench_waits waits = {0};
  long done = 0;
  for (int i = 0; i < threads; i++) {
    peer_task *task = &contest->tasks[i];
    done += task->done;
    if ((double)task->longest > waits.longest) waits.longest = (double)task->longest;
    if ((double)task->passed > waits.passed) waits.passed = (double)task->passed;
  }
  waits.section = (double)(contest->ended - contest->began) / (double)(done > 0 ? done : 1);
  free(contest);
  return waits;
}
