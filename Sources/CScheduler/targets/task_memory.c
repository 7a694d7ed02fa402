// Memory of tasks: each thread has a cache of free jobs, and all threads share a central cache. A job's word stays
// readable after its task's end.
// An allocation is PAGES bytes, aligned to PAGES: UNITS units, with jobs of one size. A batch is a list of free jobs,
// often as many as a unit holds.
//
// States of the memory for a job: in use · free, in a thread's cache, or in a batch in the central cache · decommitted
// (`bare`): returned to the system, or never used
// `pages->life`  no job that was ever in the decommitted units has had a higher generation
//
// Invariants
//   TM1  The word of a job stays mapped, and its generation only rises. A job made in a decommitted unit starts with
//        `pages->life`, which no task at that address has had. In decommitted memory the word reads as 0, which is no
//        task's generation.
//   TM2  Each job's memory is in one state: in use, in one thread's cache, in the central cache, or decommitted.
//   TM3  A thread that exits moves its cache to the central cache.
//   TM4  The central cache is usable in a child of fork: each change of its lists is one store. The child leaks the
//        caches of the parent's other threads. The jobs that those threads were dropping become ORPHANED.
// Orderings
//   word: release, pairs with the acquire through an old handle, which sees that its task is over, and the writes of
//   that task; the system orders a decommit in the same way · lists: release, so that the copy in a child of fork is
//   complete; the lock orders all other accesses
// Assumes: a thread whose exit handler cannot be registered (no memory for that) has no cache.
// Source: nodes with a generation, whose memory is never reused for another type, as for lock-free stacks; thread
//   caches with a central cache of full batches are Bonwick and Adams's magazines (2001).
// Models: checks/task.c. Not modelled: TM4.

#include "task_internal.h"
#include "../job/job_internal.h"
#include "../platform/platform.h"
#include <string.h>

enum { UNIT = CSCHED_TASK_UNIT, UNITS = CSCHED_TASK_UNITS, PAGES = UNITS * UNIT };

typedef csched_task_pages pages;

CSCHED_STATIC_ASSERT(sizeof(pages) <= UNIT, "what describes the units is one of them");
CSCHED_STATIC_ASSERT(UNIT >= 64 << (CSCHED_TASK_SIZES - 1), "a unit has room for one of each size");

CSCHED_CACHE_ALIGNED csched_task_central_cache csched_task_central_; // shared by all threads
#define central csched_task_central_
// This thread's cache: for each size a current batch (`first`), from which jobs are allocated and to which they are
// freed, and a full batch.
// A struct of arrays has 64 bytes, an array of structs 72. The system has few thread-local bytes for libraries that are
// loaded late.
static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL struct {
  csched_job *first[CSCHED_TASK_SIZES], *full[CSCHED_TASK_SIZES];
  uint16_t count[CSCHED_TASK_SIZES]; // jobs in the current batch
  uint16_t most[CSCHED_TASK_SIZES];  // jobs in a full batch; 0: call may_cache before this thread caches jobs
  bool is_ending;                    // the exit handler has run: the thread no longer caches jobs
} cache;

static size_t job_bytes(csched_task_size size) { return (size_t)64 << size; } // 64, 128 and 256 bytes
// Returns: how many jobs a full batch has: as many as a unit holds.
static size_t batch_size(csched_task_size size) { return UNIT / job_bytes(size); }

// MARK: the central cache

// Returns: the link from the first job of `batch` to the next batch, in the job's extra words. The jobs of a batch are
// linked by `next`.
static csched_job **next_batch_of(const csched_job *batch) { return csched_task_room_((csched_job *)batch); }

// Returns: the allocation that contains `job`, which is aligned to PAGES; and the index of the job's unit in it.
static pages *pages_of(const csched_job *job) { return (pages *)((uintptr_t)job & ~(uintptr_t)(PAGES - 1)); }
static unsigned unit_of(const csched_job *job) { return (unsigned)((uintptr_t)job % PAGES / UNIT); }

static void add_batch(csched_job *batch, csched_task_size size) { // TM2: to the central cache, whose lock is held
  *next_batch_of(batch) = central.batches[size];
  csched_store_release(&central.batches[size], batch); // TM4: one store: the list is complete in a child of fork
}

// Does: makes an allocation, with all units decommitted, and adds it to `all`. Requires: the lock. Returns: NULL
// without memory.
static pages *add_pages(csched_task_size size) {
  pages *added = csched_os_pages_take_(PAGES);
  if (added == NULL) return NULL;
  added->size = size;
  added->life = 1;            // generation 0 is no task's
  added->bare = ~UINT64_C(1); // all units but unit 0, which is this header
  added->next = central.all;
  csched_store_release(&central.all, added); // TM4: one store: a child of fork walks a complete list
  return added;
}

// Returns: the job number `index` of a unit.
static csched_job *job_at(const pages *allocation, unsigned unit, size_t index) {
  return (csched_job *)((char *)allocation + (size_t)unit * UNIT + index * job_bytes(allocation->size));
}

// Does: makes all jobs of a decommitted unit (a write commits it again). Requires: the lock. Returns: their batch; NULL
// without memory.
static csched_job *make_batch(csched_task_size size) {
  pages *from = central.all;
  while (from != NULL && (from->bare == 0 || from->size != size)) from = from->next;
  if (from == NULL && (from = add_pages(size)) == NULL) return NULL;
  unsigned unit = (unsigned)__builtin_ctzll(from->bare); // the first decommitted one
  csched_job *next = NULL;
  for (size_t i = batch_size(size); i-- > 0;) { // backwards: each job links to the one behind it
    csched_job *job = job_at(from, unit, i);
    job->next = next;
    csched_store_release(&job->word, from->life * CSCHED_JOB_LIFE); // TM1: pairs with old handles, whose tasks are over
    next = job;
  }
  from->bare &= from->bare - 1; // TM2: clears the lowest bit, which is that of `unit`
  return next;
}

// Does: takes a batch from the central cache, or makes one. Returns: NULL without memory.
static csched_job *take_batch(csched_task_size size) {
  csched_lock_lock(&central.lock);
  csched_job *batch = central.batches[size];
  if (batch != NULL)
    csched_store_release(&central.batches[size], *next_batch_of(batch)); // TM2: unlinks it; TM4: one store
  else batch = make_batch(size);
  csched_lock_unlock(&central.lock);
  return batch;
}

static void return_batch(csched_job *batch, csched_task_size size) {
  csched_lock_lock(&central.lock);
  add_batch(batch, size);
  csched_lock_unlock(&central.lock);
}

// Does: in a child of fork, marks the jobs in `from` that threads of the parent were dropping as ORPHANED: a wait for
// them stops the process.
static void orphan_drops(const pages *from) {
  for (unsigned unit = 1; unit < UNITS; unit++)                                        // unit 0 is the header
    for (size_t i = 0; i < batch_size(from->size) && !(from->bare >> unit & 1); i++) { // a `bare` unit has no jobs
      csched_job *job = job_at(from, unit, i);
      uint64_t word = csched_load_relaxed(&job->word); // TM4: relaxed: the child has one thread
      unsigned state = csched_job_state_(word);
      if ((state == CSCHED_JOB_DROPPING || state == CSCHED_JOB_PASSED) && !csched_job_is_dropped_here_(job))
        csched_store_relaxed(&job->word, csched_job_in_state_(word, CSCHED_JOB_ORPHANED)); // TM4: one thread
    }
}

static void task_memory_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // TM4: repairs the child's copy
  (void)atfork;
  if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) central.lock = (csched_lock)CSCHED_LOCK_INIT;
  if (phase != CSCHED_ATFORK_IN_CHILD) return;
  for (const pages *each = central.all; each != NULL; each = each->next) orphan_drops(each);
}

// Does: registers the atfork handler, once. Requires: called before the caller locks the central cache.
static void register_atfork(void) {
  static csched_atfork atfork;
  csched_os_atfork_(&atfork, task_memory_at_fork);
}

// MARK: a thread's cache

void csched_tasks_flush_(void) { // moves this thread's cache to the central cache
  for (int size = 0; size < CSCHED_TASK_SIZES; size++) {
    if (cache.first[size] != NULL) return_batch(cache.first[size], (csched_task_size)size);
    if (cache.full[size] != NULL) return_batch(cache.full[size], (csched_task_size)size);
    cache.first[size] = cache.full[size] = NULL;
    cache.count[size] = cache.most[size] = 0; // `most` 0: the next use calls may_cache
  }
}

static void cache_thread_ends(void *unused) { // TM3: exit handler: other threads can use its jobs
  (void)unused;
  cache.is_ending = true; // from now on frees go to the central cache: this may be the final round of destructors
  csched_tasks_flush_();
}

// Does: registers the thread's exit handler, if necessary. Returns: whether this thread may cache jobs of `size`.
static bool may_cache(csched_task_size size) {
  static csched_tsd key;
  if (cache.most[size] > 0) return true;
  register_atfork();
  if (!cache.is_ending && csched_tsd_set_(&key, &cache, cache_thread_ends) == 0)
    cache.most[size] = (uint16_t)batch_size(size);
  return cache.most[size] > 0;
}

// Does: refills the empty cache with a batch. Returns: one job of that batch; NULL without memory.
static csched_job *take_from_batch(csched_task_size size) {
  bool can_cache = may_cache(size); // else the other jobs of the batch go to the central cache
  csched_job *batch = cache.full[size] != NULL ? cache.full[size] : take_batch(size);
  cache.full[size] = NULL;
  if (batch == NULL) return NULL;
  csched_job *rest = batch->next;
  if (can_cache) cache.first[size] = rest;
  else if (rest != NULL) return_batch(rest, size);
  for (cache.count[size] = 0; can_cache && rest != NULL; rest = rest->next) cache.count[size]++; // batch sizes vary
  return batch;
}

// Does: when the current batch is full, or `most` is 0, makes room in the cache for one more job. Returns: false if
// this thread may not cache jobs.
static bool make_room(csched_task_size size) {
  if (!may_cache(size)) return false;
  if (cache.count[size] < cache.most[size]) return true; // not full: `most` was 0 before may_cache
  if (cache.full[size] != NULL) return_batch(cache.full[size], size);
  cache.full[size] = cache.first[size];
  cache.first[size] = NULL;
  cache.count[size] = 0;
  return true;
}

// Returns: a handle of `job`, from the cache, in its present generation.
static inline csched_task make_task(csched_job *job, const csched_job_type *type, csched_task_size size) {
  CSCHED_UNPOISON(job, job_bytes(size));
  job->type = type;
  if (size != CSCHED_TASK_PLAIN) csched_task_timer_(job)->owner = NULL;         // the timer waits in no queue
  return (csched_task){job, csched_load_relaxed(&job->word) / CSCHED_JOB_LIFE}; // TM2: only this thread uses the job
}

static CSCHED_NOINLINE csched_task make_slow(const csched_job_type *type, csched_task_size size) {
  csched_job *job = take_from_batch(size);
  return job != NULL ? make_task(job, type, size) : (csched_task){NULL, 0};
}

csched_task csched_task_make_(const csched_job_type *type, csched_task_size size) {
  csched_job *job = cache.first[size];
  if (CSCHED_UNLIKELY(job == NULL)) return make_slow(type, size);
  cache.first[size] = job->next;
  cache.count[size]--;
  return make_task(job, type, size);
}

static inline void cache_job(csched_job *job, csched_task_size size) {
  job->next = cache.first[size];
  cache.first[size] = job;
  cache.count[size]++;
}

static CSCHED_NOINLINE void free_slow(csched_job *job, csched_task_size size) {
  job->next = NULL; // a batch of one job, if this thread may not cache it
  if (make_room(size)) cache_job(job, size);
  else return_batch(job, size);
}

void csched_task_free_(csched_job *job, csched_task_size size) {
  CSCHED_POISON(&job->type, offsetof(csched_job, word) - offsetof(csched_job, type)); // old handles read the word
  CSCHED_POISON(next_batch_of(job) + 1,
                job_bytes(size) - sizeof(csched_job) - sizeof(csched_job *));       // batches use the link
  if (CSCHED_UNLIKELY(cache.count[size] == cache.most[size])) free_slow(job, size); // full, or caches none
  else cache_job(job, size);
}

csched_task_size csched_task_size_(const csched_job *job) { return pages_of(job)->size; }

// MARK: trim: returns unused memory to the system

// Does: counts the free jobs of each unit in `free`, and raises `life` of each allocation to their highest generation.
// `batch`: a list of batches.
static void count_free(const csched_job *batch) {
  for (; batch != NULL; batch = *next_batch_of(batch))
    for (const csched_job *each = batch; each != NULL; each = each->next) {
      uint64_t life = csched_load_relaxed(&each->word) / CSCHED_JOB_LIFE; // TM1: a free job's word does not change
      pages *allocation = pages_of(each);
      if (life > allocation->life) allocation->life = life; // TM1: for jobs made here after a decommit
      allocation->free[unit_of(each)]++;
    }
}

// Returns: whether a page of the system, `units` units from `unit` on, has no job in use or in a thread's cache, and is
// not wholly decommitted.
// Such a job is missing among the unit's free jobs: a unit holds batch_size jobs.
static bool can_be_decommitted(const pages *from, unsigned unit, unsigned units) {
  bool has_free = false;
  for (unsigned i = unit; i < unit + units; i++) {
    bool is_decommitted = (from->bare >> i & 1) != 0;                                        // bit i: unit i
    if (i == 0 || (!is_decommitted && from->free[i] < batch_size(from->size))) return false; // unit 0 is the header
    has_free |= !is_decommitted;
  }
  return has_free;
}

// Does: decommits each page of `from` that can be decommitted, adjacent pages by one system call. `units`: units in a
// page.
static void decommit_pages(pages *from, unsigned units) {
  uint64_t emptied = 0;                                               // bits of the units that this call decommits
  for (unsigned first = 0, end; first < UNITS; first = end + units) { // the page at `end` stays
    for (end = first; end < UNITS && can_be_decommitted(from, end, units); end += units) {}
    if (end == first) continue;
    csched_os_pages_discard_((char *)from + (size_t)first * UNIT, (size_t)(end - first) * UNIT);
    for (unsigned i = first; i < end; i++) emptied |= UINT64_C(1) << i;
  }
  from->bare |= emptied; // TM2: marks the units decommitted
}

// Does: adds the jobs in `batches` to the central cache again, in new batches, except jobs in pages that decommit_pages
// will decommit.
static void restore_batches(csched_job *batches, csched_task_size size, unsigned units) {
  csched_job *batch_so_far = NULL;
  size_t count = 0;
  for (csched_job *batch = batches, *next_batch; batch != NULL; batch = next_batch) {
    next_batch = *next_batch_of(batch);
    for (csched_job *each = batch, *next; each != NULL; each = next) {
      next = each->next;
      if (can_be_decommitted(pages_of(each), unit_of(each) / units * units, units)) continue; // will be decommitted
      each->next = batch_so_far;
      batch_so_far = each;
      if (++count % batch_size(size) != 0) continue; // the batch is not full yet
      add_batch(batch_so_far, size);
      batch_so_far = NULL;
    }
  }
  if (batch_so_far != NULL) add_batch(batch_so_far, size);
}

void csched_trim(void) { // decommits the pages that have no job in use or in another thread's cache
  unsigned units = (unsigned)(csched_os_page_size_() / UNIT); // units in a page of the system
  if (units == 0) units = 1;                                  // a page smaller than a unit: decommits units
  register_atfork();
  csched_tasks_flush_(); // so that this thread's free jobs count, too
  csched_lock_lock(&central.lock);
  for (pages *each = central.all; each != NULL; each = each->next) memset(each->free, 0, sizeof each->free);
  for (int size = 0; size < CSCHED_TASK_SIZES; size++) {
    csched_job *batches = central.batches[size];
    csched_store_release(&central.batches[size], NULL); // TM4: one store: a child of fork finds a complete list
    count_free(batches);
    restore_batches(batches, (csched_task_size)size, units);
  }
  for (pages *each = central.all; each != NULL; each = each->next) decommit_pages(each, units); // jobs are unlinked
  csched_lock_unlock(&central.lock);
}
