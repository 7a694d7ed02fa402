// Records submissions, runs and drops while there is an observer: the waiting jobs, the figures of each target, and the
// runs of each thread. `figures` are the counts of one target. A csched_observer is the record of one thread. Observers
// such as the trace read figures and records.
// States
//   csched_observed_   0: no observer; else the bits of the observers (observe_internal.h)
//   parts[i]           one of PARTS hash tables of waiting submissions, each with its own lock; an entry with `job`
//                      NULL is free
//   runs[depth]        one run of a thread; `id` is 0 while the entry is free or changes, else the number of the
//                      submission
//   targets[i]         an entry of the hash table of targets: NULL: free; GONE: its target was destroyed; else the
//                      target
// Invariants
//   OB1  Each recorded submission is removed from the table once: by its run, its drop or its cancel. So only one end
//        of each submission is recorded.
//   OB2  A submission or a refusal does not wait long for a lock of this file. After LOCK_ATTEMPTS attempts the job
//       stays unobserved, and `missed` counts the event. So a signal handler that has interrupted the lock's owner
//       continues. Meanwhile such an owner takes no other lock, and an unlock is one store: no signal handler finds a
//       lock of the parking table taken by the thread that it has interrupted.
//   OB3  A thread that reads a run of another thread gets the values of one run, never a mixture of two.
//   OB4  Figures count for one target. When another target reuses the figures, their `number` changes.
//   OB5  `waiting` of a target's figures is the number of its entries in the tables: each change of an entry changes
//        it, under the part's lock. No entry stays when its job has ended: a submission that began before counting
//        ended and began again is not added after the tables were emptied.
// Orderings
//   csched_observed_: relaxed; a thread that sees a new bit late misses the first events · figures: relaxed counts ·
//   begins: release before the tables are emptied, pairs with a submission's acquire, which precedes its look at
//   csched_observed_
//   `all`: release, pairs with acquire, carries zeroed tables · `id` of a run: release, pairs with the reader's
//   acquire, carries the run's fields
// Assumes: a job's memory is not reused before the job's end has been recorded here.
// Source: own design. The histogram has the steps of HdrHistogram, but fewer.
// Models: checks/observe.c. Not modelled: OB1, OB2, OB4.

#include "observe_internal.h"
#include <CScheduler/lock.h>
#include "../clock/clock_internal.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../job/node.h"
#include "../platform/platform.h"
#include "../targets/target_internal.h"
#include "events_internal.h"
#include "trace_internal.h"
#include <errno.h>
#include <string.h>

// Parts; entries of one; the most used: fewer than all.
enum { PARTS = 64, ENTRIES = CSCHED_OBSERVED_ROOM, MOST = ENTRIES * 7 / 8 };
enum { TARGETS = 8 * ENTRIES, FIGURES = TARGETS / 2 }; // entries of the hash table of targets; of `figures`
enum { CODES = 16 };                                   // entries of `codes`
enum { LOCK_ATTEMPTS = 200 };                          // of lock_bounded

typedef uint32_t table_lock; // 0: free; 1: locked

typedef struct part { // one of the hash tables of waiting submissions
  CSCHED_CACHE_ALIGNED table_lock lock;
  uint32_t count;               // used entries
  csched_seen entries[ENTRIES]; // `job` NULL: a free entry
} part;

typedef struct tables {
  part parts[PARTS];
  const csched_target *targets[TARGETS]; // hash table
  uint32_t figures_of[TARGETS];          // for each entry of `targets`, an index into `figures`
  csched_figures figures[FIGURES];
} tables;

static tables *all;                               // the tables, never freed; NULL: there was never an observer
static csched_lock observers_lock;                // serialises begins of observers, and changes of `codes`
static table_lock targets_lock;                   // serialises writers of the table of targets
static uint32_t begins;                           // how often counting has begun
static uint64_t newest_id, newest_number, missed; // number of the newest submission; of the newest figures; lost events
static csched_observer *observers;                // list of the threads' records, newest first; records are never freed
static csched_observed_code codes[CODES];         // where jobs of some types store the user's function
static uint32_t code_count;                       // used entries of `codes`
static csched_atfork atfork;                      // calls observe_at_fork
static const csched_target *const GONE = (const csched_target *)1; // in `targets`: a search continues behind it

// Returns: whether an observer that reads the tables is on; programs attached to the probes do not. The answer may be
// late: events are then missed.
static bool is_observed_here(void) {
  return (csched_load_relaxed(&csched_observed_) & ~(uint32_t)CSCHED_OBSERVED_BY_OTHERS) != 0; // OB1: may be late
}

// Returns: the tables; NULL: there was never an observer.
static tables *tables_here(void) {
  return csched_load_acquire(&all); // OB1: pairs with csched_observe_begin_'s release, which publishes zeroed tables
}

// MARK: locking the tables

// Does: tries LOCK_ATTEMPTS times to lock: first spins, then naps 1 µs. Returns: whether it has locked; false: busy.
static bool lock_if_free_soon(table_lock *lock) {
  for (int i = 0; i < LOCK_ATTEMPTS; i++) {
    uint32_t free = 0;
    if (csched_cas_acquire(lock, &free, 1u)) return true; // OB2: pairs with unlock_table's release
    if (i < LOCK_ATTEMPTS / 2 && csched_may_spin_()) CSCHED_CPU_RELAX();
    else csched_nap_(1000); // ns: the lock's owner may need this processor
  }
  return false;
}

// Does: the same, and counts an event as missed if the lock is busy: the only way to lock that a signal handler may
// use.
static bool lock_bounded(table_lock *lock) { // OB2: a signal handler may have interrupted the lock's owner
  if (lock_if_free_soon(lock)) return true;
  csched_fetch_add_relaxed(&missed, 1u); // a count of events
  return false;
}
static void lock_table(table_lock *lock) {
  while (!lock_if_free_soon(lock)) {}
}
static void unlock_table(table_lock *lock) {
  csched_store_release(lock, 0u); // OB2: pairs with lock_if_free_soon's acquire
}

uint64_t csched_observe_missed_(void) { return csched_load_relaxed(&missed); } // a count of events

// MARK: waiting jobs: submitted, not started

// A part is an open-addressing table with linear probing; the job's address selects part and entry.

// The hash multiplies the address, without its four lowest bits, which are 0, by 2^64 / the golden ratio. The highest 6
// bits of the hash select the part (PARTS is 2^6); lower bits select the entry at which a search in the part starts.
static size_t hash_of(const void *address) { return (size_t)((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15u; }
static part *part_of(tables *tables, const csched_job *job) { return &tables->parts[hash_of(job) >> 58]; }
static size_t first_index_of(const csched_job *job) { return hash_of(job) >> 40 & (ENTRIES - 1); }

// Returns: the index of the entry of `job`, or, if there is none, of a free entry for it. There is always a free one,
// because MOST < ENTRIES.
static size_t find_locked(const part *part, const csched_job *job) {
  size_t at = first_index_of(job);
  while (part->entries[at].job != NULL && part->entries[at].job != job) at = (at + 1) % ENTRIES;
  return at;
}

// Does: adds `change` (1 or -1) to the target's number of waiting jobs. Returns: the new number; 0: no figures, or
// another target has them now.
// Requires: the caller owns the lock of the part in which it changes an entry of `seen`.
static uint32_t change_waiting_locked(const csched_seen *seen, int32_t change) { // OB5
  csched_figures *figures = seen->figures;
  uint64_t now = figures != NULL ? csched_load_relaxed(&figures->waiting) : 0; // racy read, rechecked by the cas
  uint64_t next = now;
  do {
    if (figures == NULL || now >> 32 != (uint32_t)seen->number) return 0; // OB4: another target has the figures
    next = now >> 32 << 32 | (uint32_t)(now + (uint64_t)change);
  } while (!csched_cas_relaxed(&figures->waiting, &now, next)); // a count of jobs
  return (uint32_t)next;
}

// Does: adds the event to the thread's ring of recent events, and to the trace. Returns: a submission's `trace`
// (csched_trace_add_).
static uint32_t add_event(csched_observer *observer, csched_trace_event *event) {
  csched_events_add_(observer, event);
  return csched_trace_add_(observer, event);
}

// Does: adds a submission to the table, and `event` to the trace, before another thread can find its end. Returns:
// false: the part is full or busy, or counting has begun again since it had begun for the time `begun`. Out:
// `event->waiting`: the target's waiting jobs.
static bool add_waiting(tables *tables, uint32_t begun, csched_seen *seen, csched_observer *observer,
                        csched_trace_event *event) {
  part *part = part_of(tables, seen->job);
  if (!lock_bounded(&part->lock)) return false;
  size_t at = find_locked(part, seen->job);
  bool is_new = part->entries[at].job == NULL;
  bool fits = (!is_new || part->count < MOST) && csched_load_relaxed(&begins) == begun; // OB5: ordered by the lock
  if (fits && !is_new) change_waiting_locked(&part->entries[at], -1); // an older submission, whose end was missed
  if (fits) event->waiting = change_waiting_locked(seen, 1);
  if (fits) seen->trace = add_event(observer, event);
  if (fits) part->entries[at] = *seen;
  if (fits && is_new) part->count++;
  unlock_table(&part->lock);
  if (!fits) csched_fetch_add_relaxed(&missed, 1u); // a count of events
  return fits;
}

// Does: frees entry `at` (Knuth's Algorithm R for linear probing). A later entry moves there, unless a search for it
// starts behind `at`.
static void remove_locked(part *part, size_t at) {
  part->count--;
  for (size_t next = at;;) {
    next = (next + 1) % ENTRIES;
    const csched_job *job = part->entries[next].job;
    if (job == NULL) break;
    if ((next - first_index_of(job)) % ENTRIES < (next - at) % ENTRIES) continue; // its search starts behind `at`
    part->entries[at] = part->entries[next];
    at = next;
  }
  part->entries[at].job = NULL;
}

// Does: removes the submission of `job` from the table, and copies it to `*seen`. Returns: whether the table contained
// it.
// Out: `*waiting`: the target's waiting jobs after it.
// `may_wait`: false for a refusal, the only end of a job that may happen in a signal handler. Then the wait is bounded:
// a busy lock gives false.
static bool remove_waiting(const csched_job *job, csched_seen *seen, uint32_t *waiting, bool may_wait) {
  tables *tables = tables_here();
  part *part = tables != NULL ? part_of(tables, job) : NULL;
  if (part == NULL || (!may_wait && !lock_bounded(&part->lock))) return false;
  if (may_wait) lock_table(&part->lock);
  size_t at = find_locked(part, job);
  bool is_there = part->entries[at].job != NULL; // OB1: true for one caller only; NULL: a free entry
  if (is_there) *seen = part->entries[at];
  if (is_there) *waiting = change_waiting_locked(seen, -1);
  if (is_there) remove_locked(part, at);
  unlock_table(&part->lock);
  return is_there;
}

// The hook `moved`: stores the new deadline of `job` in the entry of its submission, if the table contains one.
static void deadline_changed(const csched_job *job, csched_time due) {
  tables *tables = tables_here();
  if (tables == NULL) return;
  part *part = part_of(tables, job);
  lock_table(&part->lock);
  csched_seen *entry = &part->entries[find_locked(part, job)];
  if (entry->job != NULL) entry->due = due;
  unlock_table(&part->lock);
}

bool csched_observe_find_(const csched_job *job, csched_seen *seen) { // copies the waiting submission of `job`, if any
  tables *tables = tables_here();
  if (tables == NULL || !is_observed_here()) return false;
  part *part = part_of(tables, job);
  if (!lock_bounded(&part->lock)) return false;
  *seen = part->entries[find_locked(part, job)];
  unlock_table(&part->lock);
  return seen->job == job; // else there was none: `*seen` is a free entry
}

bool csched_observe_visit_(void (*visit)(const csched_seen *seen, void *context), void *context) {
  tables *tables = tables_here();
  bool is_whole = true; // no part was skipped
  for (int i = 0; i < PARTS && tables != NULL; i++) {
    part *part = &tables->parts[i];
    bool is_seen = lock_bounded(&part->lock);
    for (int j = 0; is_seen && j < ENTRIES; j++)
      if (part->entries[j].job != NULL) visit(&part->entries[j], context);
    if (is_seen) unlock_table(&part->lock);
    is_whole = is_whole && is_seen;
  }
  return is_whole;
}

// MARK: targets

csched_figures *csched_figures_at_(size_t at) {
  tables *tables = tables_here();
  return tables != NULL && at < FIGURES ? &tables->figures[at] : NULL;
}

// Returns: the index of `target`; TARGETS: not in the table. Then `*free`, unless NULL, is the first usable index;
// TARGETS: the table is full.
static size_t find_target(const tables *tables, const csched_target *target, size_t *free) {
  size_t at = hash_of(target) >> 51 & (TARGETS - 1), empty = TARGETS; // the highest 13 bits, because TARGETS is 2^13
  for (size_t i = 0; i < TARGETS; i++, at = (at + 1) % TARGETS) {
    const csched_target *found = csched_load_acquire(&tables->targets[at]); // OB4: pairs with begin_figures
    if (found == target) return at;
    if ((found == NULL || found == GONE) && empty == TARGETS) empty = at; // behind GONE the search continues
    if (found == NULL) break;                                             // no later entry is of `target`
  }
  if (free != NULL) *free = empty;
  return TARGETS;
}

csched_figures *csched_figures_find_(const csched_target *target) { // returns: NULL: no figures
  tables *tables = tables_here();
  size_t at = tables != NULL ? find_target(tables, target, NULL) : TARGETS;
  return at < TARGETS ? &tables->figures[tables->figures_of[at]] : NULL;
}

// Does: sets `figures->name` to the target's description without its state, such as: queue 0x… "name" on 0x….
static void name_target(csched_figures *figures, const csched_target *target) {
  char line[512];
  csched_text text = csched_text_in_(line, sizeof line - 1);
  text.is_name_only = true; // OB2: the state needs locks
  if (target->type->describe_ != NULL) target->type->describe_(target, &text);
  else csched_text_target_(&text, "target", target, "");
  *text.at = 0;
  csched_name_copy_(figures->name, sizeof figures->name, line);
}

// Does: assigns unused figures to `target`, unless it has figures. Returns: its figures; NULL: no figures or no entry
// is unused, or the lock is busy.
static csched_figures *begin_figures(tables *tables, const csched_target *target) {
  csched_figures *figures = NULL;
  size_t free, at;
  if (!lock_bounded(&targets_lock)) return NULL;
  at = find_target(tables, target, &free);
  if (at < TARGETS) figures = &tables->figures[tables->figures_of[at]];
  for (size_t i = 0; figures == NULL && free < TARGETS && i < FIGURES; i++) {
    csched_figures *each = &tables->figures[(newest_number + i) % FIGURES];
    if (each->target != NULL) continue; // another target uses them
    newest_number += i;                 // the next search starts behind `each`
    memset(each, 0, sizeof *each);
    csched_store_relaxed(&each->waiting, (newest_number + 1)
                                             << 32); // OB4: a late end of the previous target is ignored
    each->target = target;
    name_target(each, target);
    each->is_concurrent = !csched_target_is_exclusive_(target) && !csched_target_has_virtual_time_(target);
    csched_store_release(&each->number, ++newest_number); // OB4: the previous target's number differs now
    tables->figures_of[free] = (uint32_t)(each - tables->figures);
    csched_store_release(&tables->targets[free], target); // OB4: publishes figures_of; pairs with find_target
    figures = each;
  }
  unlock_table(&targets_lock);
  return figures;
}

// Does: assigns figures to `target`, if it has none: at its first observed submission. Returns: its figures; NULL: as
// begin_figures.
static csched_figures *figures_of(tables *tables, const csched_target *target) {
  csched_figures *figures = csched_figures_find_(target);
  return figures != NULL ? figures : begin_figures(tables, target);
}

// The hook `gone`: `target` is being destroyed. Its figures become unused, but stay readable until another target gets
// them.
static void target_destroyed(const csched_target *target) {
  if (CSCHED_LIKELY(csched_load_flag(&all) == NULL)) return; // racy read: NULL: there was never an observer
  tables *tables = tables_here();
  if (!lock_bounded(&targets_lock)) return;
  size_t at = find_target(tables, target, NULL);
  if (at < TARGETS) {
    tables->figures[tables->figures_of[at]].target = NULL;
    csched_store_relaxed(&tables->targets[at], GONE); // OB4: no new user; earlier ones still see their number
  }
  unlock_table(&targets_lock);
}

// MARK: figures: the counts of a target

static void count_one(uint64_t *count) { csched_fetch_add_relaxed(count, 1u); } // a count of events

// Returns: the index in a histogram's `counts` for `span`: eight steps for each power of two, selected by the three
// bits below the highest set bit.
static size_t step_of(csched_time span) {
  if (span < 8) return (size_t)span;
  size_t doublings = 63 - (size_t)__builtin_clzll(span), step = (doublings - 2) * 8 + (span >> (doublings - 3) & 7);
  return step < CSCHED_SPANS ? step : CSCHED_SPANS - 1;
}

static void add_span(csched_spans *spans, csched_time span) {  // counts `span`, and raises the maximum to it
  csched_fetch_add_relaxed(&spans->counts[step_of(span)], 1u); // a count of spans
  csched_time most = csched_load_relaxed(&spans->most);        // racy read, rechecked by the cas
  while (most < span && !csched_cas_relaxed(&spans->most, &most, span)) {} // a count: the maximum
}

bool csched_figures_belong_to_(const csched_figures *figures, uint64_t number) {
  return figures != NULL && csched_load_acquire(&figures->number) == number; // OB4: else another target has them
}
uint64_t csched_figures_number_(const csched_figures *figures) {
  return csched_load_relaxed(&figures->number); // OB4: a later csched_figures_belong_to_ detects a reuse
}

// MARK: the records of threads (csched_observer)

csched_observer *csched_observers_(void) { return csched_load_acquire(&observers); } // OB3: pairs with make_observer

// Returns: the record that `thread`, the calling thread, owns; NULL: none.
static csched_observer *find_observer(uint32_t thread) {
  csched_observer *each = csched_observers_();
  while (each != NULL && csched_load_relaxed(&each->thread) != thread) each = each->next; // OB3: only its owner sets it
  return each;
}

// Get and set the figures of the target for which the thread works now. Only the record's owner calls these functions.
// The access is atomic because a previous owner may have ended without releasing the record.
static csched_figures *current_figures(const csched_observer *observer) {
  return csched_load_relaxed(&observer->figures); // OB3: only the owner reads it, so relaxed is enough
}
static void set_current_figures(csched_observer *observer, csched_figures *figures) {
  csched_store_relaxed(&observer->figures, figures); // OB3: only the owner reads it, so relaxed is enough
}

// Does: makes `thread` the owner of a free record, or of an ended thread's, which may not have released it. Returns:
// the record; NULL: there is none.
static csched_observer *acquire_observer(uint32_t thread) {
  for (csched_observer *each = csched_observers_(); each != NULL; each = each->next) {
    uint32_t owner = csched_load_relaxed(&each->thread); // racy read, rechecked by the cas
    if ((owner == 0 || !csched_os_thread_exists_(owner)) &&
        csched_cas_acquire(&each->thread, &owner, thread)) // OB3: one owner; pairs with release_observer
      return each;
  }
  return NULL;
}

// Does: acquires a record for `thread`, or adds a new one to the list. Returns: the record; NULL without memory.
static csched_observer *make_observer(uint32_t thread) {
  csched_observer *made = acquire_observer(thread);
  if (made != NULL || (made = csched_os_memory_allocate_(sizeof *made)) == NULL) return made;
  made->thread = thread;
  made->next = csched_observers_();
  while (!csched_cas_release(&observers, &made->next, made)) {} // OB3: publishes; pairs with csched_observers_
  return made;
}

// Returns: this thread's record, made at its first event; NULL without memory. The list of context frames stores it; a
// thread without list searches.
static csched_observer *observer_here(void) {
  csched_observer **mine = csched_frames_observer_();
  if (mine != NULL && *mine != NULL) return *mine;
  uint32_t thread = csched_os_thread_id_();
  csched_observer *found = find_observer(thread);
  if (found == NULL) found = make_observer(thread);
  if (mine != NULL) *mine = found;
  return found;
}

// The hook `leave`: the record's thread exits. Does: makes the record free. A child of fork calls it for the records of
// threads that it lacks.
static void release_observer(csched_observer *observer) {
  observer->depth = 0;
  set_current_figures(observer, NULL);
  for (int i = 0; i < CSCHED_OBSERVED_DEPTH; i++)
    csched_store_relaxed(&observer->runs[i].id, (uint64_t)0); // OB3: 0: readers skip the run
  csched_store_release(&observer->thread, 0u);                // OB3: free; pairs with acquire_observer's acquire
}

uint32_t csched_observer_thread_(const csched_observer *observer) {
  return csched_load_relaxed(&observer->thread); // racy read: the thread may have ended
}

// Contract: observe_internal.h. A seqlock's reader, whose sequence number is `id`: a second load of `id` detects a
// change during the copy.
bool csched_observer_copy_run_(const csched_observer *observer, uint32_t depth, csched_recorded_run *copy) {
  const csched_recorded_run *from = &observer->runs[depth];
  copy->id = csched_load_acquire(&from->id);           // OB3: pairs with csched_observer_begin_'s release
  copy->since = csched_load_relaxed(&from->since);     // OB3: valid if `id` is unchanged
  copy->code = csched_load_relaxed(&from->code);       // OB3: valid if `id` is unchanged
  copy->figures = csched_load_relaxed(&from->figures); // OB3: valid if `id` is unchanged
  copy->number = csched_load_relaxed(&from->number);   // OB3: valid if `id` is unchanged
  copy->trace = csched_load_relaxed(&from->trace);     // OB3: valid if `id` is unchanged
  csched_fence_full();                                 // OB3: the second load of `id` follows these loads
  return copy->id != 0 && csched_load_relaxed(&from->id) == copy->id; // OB3: `id` unchanged: a copy of one run
}

// Contract: observe_internal.h. First ends recorded runs that were unwound: the stack grows downwards, so their
// addresses are not above `run`. If one is the deepest that is recorded, those below it were unwound, too.
void csched_observer_begin_(csched_observer *observer, csched_observed_run *run) {
  uintptr_t frame = (uintptr_t)run;
  uint32_t recorded = observer->depth < CSCHED_OBSERVED_DEPTH ? observer->depth : CSCHED_OBSERVED_DEPTH;
  for (; recorded > 0 && observer->runs[recorded - 1].frame <= frame; observer->depth = --recorded)
    csched_store_relaxed(&observer->runs[recorded - 1].id, (uint64_t)0); // OB3: 0: readers skip the run
  run->depth = observer->depth++;
  if (run->depth >= CSCHED_OBSERVED_DEPTH) return; // counted in `depth`, but not recorded
  csched_recorded_run *entry = &observer->runs[run->depth];
  csched_fence_full(); // OB3: `id` is 0 before the fields change, so no reader accepts them; pairs with its fence
  csched_store_relaxed(&entry->since, run->since);          // OB3: written while `id` is 0
  csched_store_relaxed(&entry->code, run->seen.code);       // OB3: written while `id` is 0
  csched_store_relaxed(&entry->figures, run->seen.figures); // OB3: written while `id` is 0
  csched_store_relaxed(&entry->number, run->seen.number);   // OB3: written while `id` is 0
  csched_store_relaxed(&entry->trace, run->seen.trace);     // OB3: written while `id` is 0
  entry->frame = frame;
  csched_store_release(&entry->id, run->seen.id); // OB3: publishes the fields; pairs with the reader
}

// Contract: observe_internal.h. Marks as ended this run, and the recorded runs inside it, which were unwound.
void csched_observer_end_(csched_observer *observer, const csched_observed_run *run) {
  for (uint32_t depth = observer->depth; depth-- > run->depth;)
    if (depth < CSCHED_OBSERVED_DEPTH) csched_store_relaxed(&observer->runs[depth].id, (uint64_t)0); // OB3: run ended
  observer->depth = run->depth;
}

// MARK: the user's function that a job calls

void csched_observe_code_at_(const csched_observed_code *code) { // adds an entry to `codes`
  csched_lock_lock(&observers_lock);
  uint32_t count = csched_load_relaxed(&code_count); // ordered by the lock
  if (count < CODES) {                               // else jobs of this type are reported by their `run`
    codes[count] = *code;
    csched_store_release(&code_count, count + 1); // OB1: pairs with the acquires below; publishes the entry
  }
  csched_lock_unlock(&observers_lock);
}

// The hook `has_code`. Returns: whether jobs with this `run` may contain the address of the user's function, plus 1, in
// `context`.
static bool has_code(void (*run)(csched_job *job)) {
  uint32_t count = csched_load_acquire(&code_count); // OB1: pairs with csched_observe_code_at_
  for (uint32_t i = 0; i < count; i++)
    if (codes[i].is_in_context && codes[i].type->run == run) return true;
  return false;
}

uintptr_t csched_observe_code_of_(const csched_job *job, const csched_job *copy) {
  uint32_t count = csched_load_acquire(&code_count); // OB1: pairs with csched_observe_code_at_
  uintptr_t code = 0;
  for (uint32_t i = 0; i < count; i++)
    if (codes[i].type == copy->type) csched_os_copy_if_mapped_(&code, (const char *)job + codes[i].offset, sizeof code);
  return code & ~(uintptr_t)1; // an address in `context` has 1 added
}

// Returns: the user's function that `job` calls, if its type is in `codes`; else the job's `run`.
static uintptr_t code_of(const csched_job *job) {
  uint32_t count = csched_load_acquire(&code_count); // OB1: pairs with csched_observe_code_at_
  uintptr_t code = (uintptr_t)job->type->run;
  if ((uintptr_t)job->type->release == CSCHED_NODE) return code; // a node (node.h) stores no function
  for (uint32_t i = 0; i < count; i++)
    if (codes[i].type == job->type) memcpy(&code, (const char *)job + codes[i].offset, sizeof code);
  return code;
}

// MARK: hooks

// Returns: an event of kind `what` at `time`, with the values of the submission `seen`.
static csched_trace_event event_of(csched_occurrence what, const csched_seen *seen, csched_time time) {
  return (csched_trace_event){.what = (uint32_t)what,
                              .time = time,
                              .id = seen->id,
                              .code = seen->code,
                              .figures = seen->figures,
                              .number = seen->number,
                              .trace = seen->trace};
}

// The hook `submit`, before `job` is submitted. Adds the submission to the table, and counts it. Until the hook
// `submitted`, wakes by this thread count for `target`; `submission->outer` saves the figures of the thread's present
// work.
static void observe_submit(csched_observed_submission *submission, csched_target *target, csched_job *job,
                           csched_time due) {
  tables *tables = tables_here();
  uintptr_t code = code_of(job);
  csched_os_probe_submit_(target, job, code);
  uint32_t begun = csched_load_acquire(&begins); // OB5: before the look: pairs with csched_observe_begin_
  submission->is_known = tables != NULL && is_observed_here();
  if (!submission->is_known) return;
  csched_observer *observer = observer_here();
  submission->outer = observer != NULL ? current_figures(observer) : NULL; // for the hook `submitted`
  csched_seen seen = {.job = job, .submitted = csched_now(), .code = code};
  seen.id = csched_fetch_add_relaxed(&newest_id, 1u) + 1; // OB1: a unique number, never 0
  // FOREVER: not known when the job is due. Virtual time does not advance with csched_now. 0 or a past deadline: due
  // from the submission on.
  seen.due = due == CSCHED_FOREVER || csched_target_has_virtual_time_(target) ? CSCHED_FOREVER
             : due > seen.submitted                                           ? due
                                                                              : seen.submitted;
  seen.figures = figures_of(tables, target);
  seen.number = seen.figures != NULL ? csched_load_relaxed(&seen.figures->number) : 0; // OB4: current: `target` exists
  csched_trace_event event = event_of(CSCHED_OCCURRED_SUBMIT, &seen, seen.submitted);
  if (!add_waiting(tables, begun, &seen, observer, &event)) {
    csched_fetch_add_relaxed(&missed, 1u); // a count of events: the job's end will be missed, too
    return;
  }
  if (observer != NULL) set_current_figures(observer, seen.figures);
  if (seen.figures != NULL) count_one(&seen.figures->submitted);
}

// The hook `submitted`, after the submission: restores the figures of the thread's present work.
static void submission_returned(const csched_observed_submission *submission) {
  if (!submission->is_known) return;
  csched_observer *observer = observer_here();
  if (observer != NULL) set_current_figures(observer, submission->outer);
}

// The hook `run`, before a dequeued job runs, or is found to be cancelled. Removes the submission from the table, and
// records the run.
static void run_starts(csched_observed_run *run, const csched_job *job) {
  csched_os_probe_run_(job, code_of(job));
  run->job = job;
  run->is_known = remove_waiting(job, &run->seen, &run->waiting, true);
  if (!run->is_known) return; // submitted before the first observer, or missed: no end is recorded
  run->since = csched_now();
  csched_frame_make_next_(); // allocates the thread's list, where observer_here stores the record; else it would search
  csched_observer *observer = observer_here();
  run->has_begun = observer != NULL;
  if (observer == NULL) return;
  run->outer = current_figures(observer);
  set_current_figures(observer, run->seen.figures);
  csched_observer_begin_(observer, run);
  csched_trace_event event = event_of(CSCHED_OCCURRED_START, &run->seen, run->since);
  csched_events_add_(observer, &event);
}

// Does: counts and traces the end of a submission that did not run: a cancel or a drop. `waiting`: the target's waiting
// jobs after it.
static void note_end(csched_occurrence what, const csched_seen *seen, csched_drop_reason reason, uint32_t waiting) {
  if (csched_figures_belong_to_(seen->figures, seen->number))
    count_one(what == CSCHED_OCCURRED_CANCEL ? &seen->figures->cancelled : &seen->figures->dropped);
  csched_trace_event event = event_of(what, seen, csched_now());
  event.waiting = waiting;
  event.span = (csched_time)reason; // an end without a run has no duration: `span` is the reason
  add_event(observer_here(), &event);
}

// The hook `ran`, after the run: counts and traces it. `has_run` false: the job did not run, because it was cancelled.
static void run_ended(csched_observed_run *run, bool has_run) {
  csched_os_probe_ran_(run->job, has_run);
  if (!run->is_known) return;
  csched_observer *observer = observer_here();
  if (observer != NULL && run->has_begun) {
    set_current_figures(observer, run->outer);
    csched_observer_end_(observer, run);
  }
  if (!has_run) {
    note_end(CSCHED_OCCURRED_CANCEL, &run->seen, CSCHED_DROP_CANCELLED, run->waiting);
    return;
  }
  csched_time span = csched_now() - run->since;
  csched_figures *figures = run->seen.figures;
  if (csched_figures_belong_to_(figures, run->seen.number)) {
    count_one(&figures->run);
    add_span(&figures->ran, span);
    if (run->seen.due != CSCHED_FOREVER)
      add_span(&figures->waited, run->since > run->seen.due ? run->since - run->seen.due : 0);
  }
  csched_trace_event event = event_of(CSCHED_OCCURRED_RUN, &run->seen, run->since);
  event.waiting = run->waiting;
  event.span = span;
  add_event(observer, &event);
}

// The hook `drop`: `job` will not run. Removes the submission from the table, and counts its end.
static void job_dropped(const csched_job *job, csched_drop_reason reason) {
  csched_seen seen;
  uint32_t waiting;
  csched_os_probe_drop_(job, (int)reason);
  if (!remove_waiting(job, &seen, &waiting, reason != CSCHED_DROP_REFUSED)) return; // OB2: a refusal's wait is bounded
  note_end(reason == CSCHED_DROP_CANCELLED ? CSCHED_OCCURRED_CANCEL : CSCHED_OCCURRED_DROP, &seen, reason, waiting);
}

// The hook `note`: a wake, a steal or a wait. A steal counts for the target `address`, the others for the target of the
// thread's present work.
static void note_event(csched_occurrence what, const void *address, csched_time span) {
  csched_observer *observer = observer_here();
  csched_figures *figures = what == CSCHED_OCCURRED_STEAL ? csched_figures_find_(address)
                            : observer != NULL            ? current_figures(observer)
                                                          : NULL;
  if (what == CSCHED_OCCURRED_WAKE && figures != NULL) count_one(&figures->wakes);
  if (what == CSCHED_OCCURRED_STEAL && figures != NULL) count_one(&figures->steals);
  csched_trace_event event = {
      .what = (uint32_t)what, .time = csched_now(), .span = span, .id = (uintptr_t)address, .figures = figures};
  if (figures != NULL) event.number = csched_load_relaxed(&figures->number); // OB4: current
  if (what == CSCHED_OCCURRED_BLOCK) csched_events_add_(observer, &event);   // a trace has lock waits only
  else add_event(observer, &event);
}

static void count_system_call(void) { // csched_os_on_call_: called before each futex call that an observer counts
  csched_observer *observer = observer_here();
  csched_figures *figures = observer != NULL ? current_figures(observer) : NULL;
  if (figures != NULL) count_one(&figures->system_calls);
}

// MARK: start and end

// The atfork handler. In the child it resets the locks, releases other threads' records, and switches off the watchdog
// and the trace.
static void observe_at_fork(csched_atfork *unused, csched_atfork_phase phase) {
  (void)unused;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  observers_lock = (csched_lock)CSCHED_LOCK_INIT;
  targets_lock = 0;
  csched_observer **mine = csched_frames_observer_();
  for (csched_observer *each = observers; each != NULL; each = each->next)
    if (mine == NULL || each != *mine) release_observer(each);
  if (mine != NULL && *mine != NULL) (*mine)->thread = csched_os_thread_id_(); // the number is new in the child
  csched_events_clear_();                                                      // empties the rings of recent events
  for (int i = 0; i < PARTS && all != NULL; i++) all->parts[i].lock = 0;
  csched_fetch_and_relaxed(
      &csched_observed_,
      ~(uint32_t)(CSCHED_OBSERVED_BY_WATCH | CSCHED_OBSERVED_BY_TRACE)); // OB1: a child lacks these observers' threads
}

// Does: empties the tables of waiting submissions. These jobs may have ended while no observer was on, so that no hook
// removed them.
static void clear_waiting(tables *tables) {
  for (int i = 0; i < PARTS; i++) {
    part *part = &tables->parts[i];
    lock_table(&part->lock);
    for (int j = 0; j < ENTRIES; j++)
      if (part->entries[j].job != NULL) change_waiting_locked(&part->entries[j], -1);
    memset(part->entries, 0, sizeof part->entries);
    part->count = 0;
    unlock_table(&part->lock);
  }
}

uint32_t csched_figures_waiting_(const csched_figures *figures) {
  return (uint32_t)csched_load_relaxed(
      &figures->waiting); // OB5: includes all earlier changes; the high half is a number
}

void csched_observe_prepare_(void) { csched_os_atfork_(&atfork, observe_at_fork); }

int csched_observe_begin_(uint32_t observer) { // turns the observer on; returns: 0 or ENOMEM
  csched_lock_lock(&observers_lock);
  tables *tables = tables_here();
  if (tables == NULL) tables = csched_os_memory_allocate_(sizeof *tables);
  else if (!is_observed_here()) {
    csched_fetch_add_release(&begins, 1u); // OB5: before the tables are emptied; pairs with observe_submit
    clear_waiting(tables);
  }
  if (tables != NULL) {
    csched_store_release(&all, tables);                   // OB1: publishes; pairs with tables_here
    csched_fetch_or_relaxed(&csched_observed_, observer); // OB1: a late reader misses the first events
  }
  csched_lock_unlock(&observers_lock);
  return tables != NULL ? 0 : ENOMEM;
}

void csched_observe_end_(uint32_t observer) {
  csched_fetch_and_relaxed(&csched_observed_, ~observer); // OB1: a late reader records a few more events
}

static const csched_observe_hooks hooks = {.submit = observe_submit,
                                           .submitted = submission_returned,
                                           .run = run_starts,
                                           .ran = run_ended,
                                           .drop = job_dropped,
                                           .moved = deadline_changed,
                                           .note = note_event,
                                           .gone = target_destroyed,
                                           .leave = release_observer,
                                           .has_code = has_code,
                                           .write_events = csched_events_write_};

// When the library is loaded: installs the hooks, and registers the job types of the library that store a user's
// function.
__attribute__((constructor)) static void install(void) {
  csched_observe_hooks_ = &hooks;
  csched_os_on_call_ = count_system_call;
  for (int i = 0; i < CSCHED_ASYNC_CODES; i++) csched_observe_code_at_(&csched_async_codes_[i]);
}
