// States of the memory for a job: in use · free, in what its thread keeps or in the depot, in a batch · bare: given back to the system, or
// never used
// `pages->life`  at least the life of each job that there has been in what is bare
//
// Obligations
//   TM1  The word of a job stays mapped, and its life goes up only: one that was bare begins with the life that its pages keep, which no
//        task of that place has had. Meanwhile the word reads as 0, which is no task's life.
//   TM2  Each job's memory is in one place: in use, kept by one thread, in the depot, or bare.
//   TM3  A thread that ends leaves what it keeps to the depot.
//   TM4  In a child of fork the depot can be used: each change of its lists is one store. What other threads kept is lost there, and what they
//        were dropping is ORPHANED.
// Orderings
//   word: release, pairs with the acquire of a late look, which sees by it that its task is over, and what that did; the system orders the
//   emptying of a page likewise · lists: release, pairs with the fork; the lock orders the rest
// Assumes: a thread that cannot be told of its end (no memory for that) keeps nothing.
// Source: nodes with a generation, whose memory keeps its type, as for lock-free stacks; caches with a depot of full batches are Bonwick and
//   Adams's magazines (2001).
// Checked by: "a burst of tasks is given back, and late cancels touch nothing", "what a thread leaves at its end is used by others",
//   "after fork tasks can be made", "after fork a wait for a drop of the parent stops the process".
// Models: checks/task.c. Not modelled: TM4.

#include "task_internal.h"

#include "../platform/platform.h"
#include "job_internal.h"

#include <string.h>

typedef struct node {
  csched_job job;
  void *room[4];
} node;

enum { UNIT = CSCHED_TASK_UNIT, UNITS = CSCHED_TASK_UNITS, PAGES = UNITS * UNIT, BATCH = UNIT / sizeof(node) };

typedef csched_task_pages pages;

CSCHED_STATIC_ASSERT(sizeof(node) == 64, "a task is a cache line");
CSCHED_STATIC_ASSERT(sizeof(pages) <= UNIT, "what describes the units is one of them");

CSCHED_CACHE_ALIGNED csched_task_depot csched_task_depot_;
#define depot csched_task_depot_

// What a thread keeps: the batch that it takes from and adds to, and a full one.
static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL struct {
  csched_job *first;
  csched_job *full;
  uint32_t count, most; // `most` is 0 until it is known that the thread's end gives back what it keeps
  bool is_ending;
} mine;

// MARK: the depot

// Of a batch, whose jobs are linked by `next`, the first one keeps this.
static csched_job **next_batch_of(const csched_job *batch) { return csched_task_room_((csched_job *)batch); }

static pages *pages_of(const csched_job *job) { return (pages *)((uintptr_t)job & ~(uintptr_t)(PAGES - 1)); }
static unsigned unit_of(const csched_job *job) { return (unsigned)((uintptr_t)job % PAGES / UNIT); }

static void add_batch(csched_job *batch) { // TM2
  *next_batch_of(batch) = depot.batches;
  csched_store_release(&depot.batches, batch); // TM4: release; pairs with the fork
}

static pages *add_pages(void) {
  pages *added = csched_os_pages_take_(PAGES);
  if (added == NULL) return NULL;
  added->life = 1;
  added->bare = ~UINT64_C(1);
  added->next = depot.all;
  csched_store_release(&depot.all, added); // TM4: release; pairs with the fork
  return added;
}

// Returns: a batch of what was bare, NULL for want of memory.
static csched_job *make_batch(void) {
  pages *from = depot.all;
  while (from != NULL && from->bare == 0) from = from->next;
  if (from == NULL && (from = add_pages()) == NULL) return NULL;
  unsigned unit = (unsigned)__builtin_ctzll(from->bare);
  node *nodes = (node *)((char *)from + (size_t)unit * UNIT);
  for (size_t i = 0; i < BATCH; i++) {
    nodes[i].job.next = i + 1 < BATCH ? &nodes[i + 1].job : NULL;
    csched_store_release(&nodes[i].job.word, from->life * CSCHED_JOB_LIFE); // TM1: release; pairs with a late look
  }
  from->bare &= from->bare - 1; // TM2
  return &nodes[0].job;
}

static csched_job *take_batch(void) {
  csched_lock_lock(&depot.lock);
  csched_job *batch = depot.batches;
  if (batch != NULL) csched_store_release(&depot.batches, *next_batch_of(batch)); // TM2; TM4: pairs with the fork
  else batch = make_batch();
  csched_lock_unlock(&depot.lock);
  return batch;
}

static void give_batch(csched_job *batch) {
  csched_lock_lock(&depot.lock);
  add_batch(batch);
  csched_lock_unlock(&depot.lock);
}

static bool is_dropped_here(const csched_job *job) {
  const csched_drop *each = csched_job_drop_here_();
  while (each != NULL && each->job != job) each = each->outer;
  return each != NULL;
}

// Marks what another thread was dropping, and never will have dropped here.
static void orphan_drops(const pages *each) {
  for (unsigned unit = 1; unit < UNITS; unit++) {
    node *nodes = (node *)((char *)each + (size_t)unit * UNIT);
    for (size_t i = 0; i < BATCH && !(each->bare >> unit & 1); i++) {
      uint64_t word = csched_load_relaxed(&nodes[i].job.word); // TM4: no other thread is left
      unsigned state = csched_job_state_(word);
      if ((state == CSCHED_JOB_DROPPING || state == CSCHED_JOB_PASSED) && !is_dropped_here(&nodes[i].job))
        csched_store_relaxed(&nodes[i].job.word, csched_job_in_state_(word, CSCHED_JOB_ORPHANED)); // TM4: the same
    }
  }
}

static void told_of_fork(csched_atfork *atfork, csched_atfork_phase phase) { // TM4
  (void)atfork;
  if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) depot.lock = (csched_lock)CSCHED_LOCK_INIT;
  if (phase != CSCHED_ATFORK_IN_CHILD) return;
  for (const pages *each = depot.all; each != NULL; each = each->next) orphan_drops(each);
}

// Once is enough, before the depot's lock is first taken.
static void be_told_of_forks(void) {
  static csched_atfork atfork;
  csched_os_atfork_(&atfork, told_of_fork);
}

// MARK: a thread's cache

void csched_tasks_flush_(void) {
  if (mine.first != NULL) give_batch(mine.first);
  if (mine.full != NULL) give_batch(mine.full);
  mine.first = mine.full = NULL;
  mine.count = mine.most = 0;
}

static void thread_ends(void *unused) { // TM3
  (void)unused;
  mine.is_ending = true; // from now on it keeps none: this may be the last round of destructors
  csched_tasks_flush_();
}

// Returns: whether this thread may keep any.
static bool may_keep(void) {
  static csched_tsd key;
  if (mine.most > 0) return true;
  be_told_of_forks();
  if (!mine.is_ending && csched_tsd_set_(&key, &mine, thread_ends) == 0) mine.most = BATCH;
  return mine.most > 0;
}

static CSCHED_NOINLINE csched_job *take_from_batch(void) {
  bool keeps = may_keep();
  csched_job *batch = mine.full != NULL ? mine.full : take_batch();
  mine.full = NULL;
  if (batch == NULL) return NULL;
  csched_job *rest = batch->next;
  if (keeps) mine.first = rest;
  else if (rest != NULL) give_batch(rest);
  for (mine.count = 0; keeps && rest != NULL; rest = rest->next) mine.count++;
  return batch;
}

static CSCHED_NOINLINE void give_to_batch(csched_job *job) {
  if (!may_keep()) {
    job->next = NULL;
    give_batch(job);
    return;
  }
  if (mine.count == mine.most) {
    if (mine.full != NULL) give_batch(mine.full);
    mine.full = mine.first;
    mine.first = NULL;
    mine.count = 0;
  }
  job->next = mine.first;
  mine.first = job;
  mine.count++;
}

csched_task csched_task_make_(const csched_job_type *type) {
  csched_job *job = mine.first;
  if (CSCHED_LIKELY(job != NULL)) {
    mine.first = job->next;
    mine.count--;
  } else if ((job = take_from_batch()) == NULL) {
    return (csched_task){NULL, 0};
  }
  CSCHED_UNPOISON(job, sizeof(node));
  job->type = type;
  return (csched_task){job, csched_load_relaxed(&job->word) / CSCHED_JOB_LIFE}; // TM2: it is this thread's
}

void csched_task_free_(csched_job *job) {
  CSCHED_POISON(&job->type, offsetof(csched_job, word) - offsetof(csched_job, type)); // the word stays to be asked
  CSCHED_POISON(next_batch_of(job) + 1, sizeof(node) - sizeof(csched_job) - sizeof(csched_job *));
  if (CSCHED_UNLIKELY(mine.count == mine.most)) {
    give_to_batch(job);
    return;
  }
  job->next = mine.first;
  mine.first = job;
  mine.count++;
}

// MARK: giving back

// Counts the free jobs of each unit, and keeps the latest of their lives.
static void count_free(const csched_job *batch) {
  for (; batch != NULL; batch = *next_batch_of(batch))
    for (const csched_job *each = batch; each != NULL; each = each->next) {
      uint64_t life = csched_load_relaxed(&each->word) / CSCHED_JOB_LIFE; // TM1: it is free
      pages *around = pages_of(each);
      if (life > around->life) around->life = life;
      around->free[unit_of(each)]++;
    }
}

// Whether the system's page that begins at `unit` and has so many is all free, and not all bare.
static bool can_be_emptied(const pages *each, unsigned unit, unsigned units) {
  bool has_free = false;
  for (unsigned i = unit; i < unit + units; i++) {
    bool is_bare = (each->bare >> i & 1) != 0;
    if (i == 0 || (!is_bare && each->free[i] < BATCH)) return false; // the first unit is no jobs'
    has_free |= !is_bare;
  }
  return has_free;
}

// Empties what can be, as much as possible by one call.
static void empty(pages *each, unsigned units) {
  uint64_t emptied = 0;
  for (unsigned first = 0, end; first < UNITS; first = end + units) {
    for (end = first; end < UNITS && can_be_emptied(each, end, units); end += units) {}
    if (end == first) continue;
    csched_os_pages_empty_((char *)each + (size_t)first * UNIT, (size_t)(end - first) * UNIT);
    for (unsigned i = first; i < end; i++) emptied |= UINT64_C(1) << i;
  }
  each->bare |= emptied; // TM2
}

// Leaves out of the batch what is to be bare. Returns: the rest, with what was kept before.
static csched_job *keep(csched_job *batch, csched_job *kept, size_t *count, unsigned units) {
  for (csched_job *next; batch != NULL; batch = next) {
    next = batch->next;
    if (can_be_emptied(pages_of(batch), unit_of(batch) / units * units, units)) continue;
    batch->next = kept;
    kept = batch;
    if (++*count < BATCH) continue;
    add_batch(kept);
    kept = NULL;
    *count = 0;
  }
  return kept;
}

void csched_trim(void) {
  unsigned units = (unsigned)(csched_os_page_size_() / UNIT);
  if (units == 0) units = 1;
  be_told_of_forks();
  csched_tasks_flush_();
  csched_lock_lock(&depot.lock);
  csched_job *batch = depot.batches, *kept = NULL;
  size_t count = 0;
  csched_store_release(&depot.batches, NULL); // TM4: release; pairs with the fork
  for (pages *each = depot.all; each != NULL; each = each->next) memset(each->free, 0, sizeof each->free);
  count_free(batch);
  for (csched_job *next; batch != NULL; batch = next) {
    next = *next_batch_of(batch);
    kept = keep(batch, kept, &count, units);
  }
  if (kept != NULL) add_batch(kept);
  for (pages *each = depot.all; each != NULL; each = each->next) empty(each, units);
  csched_lock_unlock(&depot.lock);
}
