// 500 threads take one lock, in each of its ways.

#include "soak.h"

enum { THREADS = 500, LEAST = 20 };

typedef struct contest {
  csched_lock lock;
  csched_time end;
  uint64_t seed;
  uint64_t inside, sections; // under the lock
  _Atomic uint64_t taken, tried;
} contest;

static void be_inside(contest *contest) {
  CHECK(++contest->inside == 1, "%llu threads are inside", (unsigned long long)contest->inside);
  contest->sections++;
  contest->inside--;
}

static bool take(contest *contest, uint64_t how, uint64_t *tried) {
  if (how < 12) {
    csched_lock_lock(&contest->lock);
    return true;
  }
  ++*tried;
  if (how < 14) return csched_lock_trylock(&contest->lock);
  return csched_lock_lock_until(&contest->lock, csched_now() + how * 100 * US);
}

static void contend(int index, void *context) {
  contest *contest = context;
  uint64_t seed = contest->seed + (uint64_t)index, taken = 0, tried = 0;
  while (taken < LEAST || !soak_is_over(contest->end)) {
    if (!take(contest, soak_below(&seed, 16), &tried)) continue;
    be_inside(contest);
    csched_lock_unlock(&contest->lock);
    taken++;
  }
  atomic_fetch_add(&contest->taken, taken);
  atomic_fetch_add(&contest->tried, tried);
}

void soak_locks(const soak_slice *slice, soak_figures *figures) {
  contest contest = {.lock = CSCHED_LOCK_INIT, .end = slice->end, .seed = soak_chance(slice->seed)};
  soak_on_threads(THREADS, contend, &contest);
  CHECK(contest.sections == contest.taken, "%llu sections, and the lock was taken %llu times",
        (unsigned long long)contest.sections, (unsigned long long)contest.taken);
  figures->count += contest.sections;
  figures->others += contest.tried;
}
