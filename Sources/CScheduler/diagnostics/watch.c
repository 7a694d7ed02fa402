// The watchdog: the thread "csched-watch" reports runs, waits in queues, blocking waits and deadlocks that last longer
// than a given span.
// A wait: a thread that blocks in a function of the library. The head of a target: its submission that has been due for
// the longest time.
// States of watch.ending, the watchdog thread's futex: 0, or 1 when the thread must end
// Invariants
//   WD1  A run, a target's longest-waiting submission, a blocking wait and a deadlock are each reported once. The
//       submission's number identifies the first two. A wait's thread and start identify it, while it is among the
//       REPORTED most recent waits and deadlocks.
//   WD2  `report` is called by one thread at a time, with no lock held. After csched_watch_end has returned, no call
//        starts. `report` may call it.
//   WD3  A child of fork has no watchdog.
//   WD4  A reported deadlock exists: two checks in a row have found the same circle of waits, with the same starts. So
//       each of its threads has waited from the first check to the second one, and could neither unlock a lock nor end
//       a job meanwhile.
// Orderings
//   ending: relaxed; only its value matters
// Assumes: a report of a run that has just ended is still useful: the run was too long.
// Source: watchdogs of main threads, and stall detectors of runtimes. Deadlocks are circles in a wait-for graph.
// Models: none. Not modelled: WD1, WD2, WD3, WD4.

#include <CScheduler/watch.h>
#include <CScheduler/dump.h>
#include <CScheduler/lock.h>
#include "../base/panic.h"
#include "../job/frames_internal.h"
#include "../sync/parking.h"
#include "dump_internal.h"
#include "observe_internal.h"
#include "watch_internal.h"
#include <errno.h>

enum { REPORTED = 512, WAITS = 512, DEADLOCKS = 64, DETAILS = 32768 }; // array entries; bytes of `details`

// A wait that lasts longer than the span.
typedef struct wait {
  const char *function; // the function that waits; for a sleeper of parking.h: the kind of the object that it waits for
  const void *what;     // address of the lock, target, job or other object
  csched_time since;
  uint32_t thread, holder; // the waiting thread; the thread that can end the wait, 0: not known
} wait;

// A circle of waits. `hash`: of the threads and the starts of its waits. `check`: number of the most recent check that
// found the circle.
typedef struct deadlock {
  uint64_t hash, check;
} deadlock;

static struct {
  csched_lock lock;     // guards the following fields, except `ending` and `thread_id`
  csched_atfork atfork; // calls watch_at_fork
  csched_atfork marker; // a check's position in the fork list (csched_os_atfork_visit_)
  csched_os_thread thread;
  csched_time span;
  void (*report)(void *context, const csched_watch_report *report);
  void *context;
  bool is_on;                 // the watchdog's thread was started, and not joined yet
  uint32_t ending, thread_id; // futex: 1: the thread must end; the thread's system number, 0: there is no thread
} watch;

// Used by the watchdog's thread only.
static uint64_t check_number;                   // number of the current check, from 1
static uint64_t reported[REPORTED];             // ring: hashes of reported waits and deadlocks
static wait waits[WAITS];                       // the current check's waits longer than the span
static deadlock deadlocks[DEADLOCKS];           // ring: the circles found most recently
static int wait_count;                          // used entries of `waits`
static unsigned reported_count, deadlock_count; // of all entries added to the rings
static char details[DETAILS];                   // the text `details` of the current report

// MARK: reports

// Does: adds which thread runs or waits, and where: the report's first line, up to "since".
static void add_subject(csched_text *text, const csched_watch_report *report) {
  if (report->thread != 0) csched_text_thread_(text, "", report->thread);
  switch (report->kind) {
  case CSCHED_WATCHED_RUN:
    csched_text_add_(text, " has run ");
    csched_text_add_(text, report->code_name);
    csched_text_add_(text, " of ");
    csched_text_add_(text, report->target_name);
    return;
  case CSCHED_WATCHED_HEAD:
    csched_text_add_(text, "the next job has waited on ");
    csched_text_add_(text, report->target_name);
    return;
  case CSCHED_WATCHED_WAIT:
  case CSCHED_WATCHED_DEADLOCK:
    csched_text_add_(text, report->kind == CSCHED_WATCHED_WAIT ? " has waited in " : " is in a deadlock: it waits in ");
    csched_text_add_(text, report->function);
    csched_text_target_(text, " for", report->what, "");
  }
}

// The report function if the user gives none: writes the report and the recent jobs of all threads to standard error.
static void write_report(void *unused, const csched_watch_report *report) {
  char line[512];
  csched_text text = csched_text_in_(line, sizeof line - 1);
  (void)unused;
  add_subject(&text, report);
  csched_text_add_(&text, " since ");
  csched_text_span_(&text, report->span);
  *text.at = 0; // ends the string
  csched_say_("csched_watch_begin", "%s", line);
  csched_os_say_(report->details);
  csched_recorder_write(2); // 2: standard error
}

// Returns: an empty text in `details`. The caller adds to it, and passes it to call_report.
static csched_text begin_details(void) { return csched_text_in_(details, DETAILS - 1); }

// Does: sets the report's texts, and calls the report function, unless the watch has ended. `end`: the text that
// begin_details has returned.
static void call_report(csched_watch_report *report, csched_text end) { // WD2: only the watchdog's thread calls it
  char name[240] = "";
  *end.at = 0;                                         // ends the string
  if (csched_load_relaxed(&watch.ending) != 0) return; // WD2: the watch has ended: `context` may be gone
  if (report->code != 0) csched_os_code_name_(report->code, name, sizeof name);
  csched_os_demangle_(name, sizeof name);
  report->code_name = name;
  report->details = details;
  watch.report(watch.context, report);
}

// Does: sets the report's target, its name, and its number of waiting jobs, unless the target was destroyed: `number`
// then differs.
static void add_target(csched_watch_report *report, const csched_figures *figures, uint64_t number) {
  report->target_name = "";
  if (!csched_figures_belong_to_(figures, number)) return;
  report->target = figures->target;
  report->target_name = figures->name;
  report->waiting = csched_figures_waiting_(figures);
}

// MARK: runs and queues

// Does: reports each run in progress that is longer than the span, on any thread and at any depth of nesting.
static void check_runs(csched_time now) {
  for (csched_observer *each = csched_observers_(); each != NULL; each = each->next) {
    for (uint32_t depth = 0; depth < CSCHED_OBSERVED_DEPTH; depth++) {
      csched_recorded_run run;
      if (!csched_observer_copy_run_(each, depth, &run) || now < run.since || now - run.since <= watch.span) continue;
      if (each->reported[depth] == run.id) continue; // WD1: this run was reported
      each->reported[depth] = run.id;
      csched_watch_report report = {.kind = CSCHED_WATCHED_RUN, .span = now - run.since, .code = run.code};
      report.thread = csched_observer_thread_(each);
      add_target(&report, run.figures, run.number);
      csched_text text = begin_details();
      csched_dump_thread_(&text, report.thread);
      csched_dump_target_(&text, report.target);
      csched_stack_add_(&text, report.thread);
      call_report(&report, text);
    }
  }
}

// Does: makes the submission its target's head, if it is due earlier than the head so far. A head counts if this check
// found it (`head_check`).
static void note_head(const csched_seen *seen, void *unused) {
  csched_figures *figures = seen->figures;
  (void)unused;
  if (figures == NULL || seen->due == CSCHED_FOREVER) return; // FOREVER: unknown, or virtual time
  if (figures->head_check == check_number && figures->head_due <= seen->due) return;
  figures->head_check = check_number;
  figures->head_due = seen->due;
  figures->head = seen->id;
}

// Does: finds the head of each target: its submission that is due longest. Reports the heads that have been due for
// longer than the span.
static void check_heads(csched_time now) {
  csched_figures *each;
  csched_observe_visit_(note_head, NULL);
  for (size_t i = 0; (each = csched_figures_at_(i)) != NULL; i++) {
    if (each->head_check != check_number || each->reported == each->head) continue; // WD1: no head, or reported before
    if (now < each->head_due || now - each->head_due <= watch.span) continue;
    each->reported = each->head;
    csched_watch_report report = {.kind = CSCHED_WATCHED_HEAD, .span = now - each->head_due};
    add_target(&report, each, csched_figures_number_(each));
    csched_text text = begin_details();
    csched_dump_target_(&text, report.target);
    call_report(&report, text);
  }
}

// MARK: waits

// Does: adds the wait `found` to `waits`, if it is longer than the span, and there is room.
static void note_wait(csched_time now, const wait *found) {
  if (wait_count < WAITS && now >= found->since && now - found->since > watch.span) waits[wait_count++] = *found;
}

// Does: adds to `waits` the threads that sleep for a lock or another blocking object (parking.h): the first MOST of
// each bucket.
static void note_sleepers(csched_time now) {
  enum { MOST = 8 }; // sleepers of one bucket
  csched_sleeping found[MOST];
  for (int i = 0; i < CSCHED_BUCKETS_; i++) {
    int count = csched_sleepers_copy_(i, found, MOST);
    for (int j = 0; j < count; j++)
      note_wait(now, &(wait){found[j].kind, found[j].address, found[j].since, found[j].thread, found[j].owner});
  }
}

// Does: adds to `waits` the wait of the thread of `each`, if it waits in a function that called csched_blocked_begin_.
// Returns: true: visit the next.
static bool note_blocked(csched_atfork *each, void *now) {
  csched_frames_seen seen;
  if (!csched_frames_copy_(each, &seen)) return true;
  wait found = {csched_load_relaxed(&seen.wait->function), csched_load_relaxed(&seen.wait->what), // racy read
                csched_load_relaxed(&seen.wait->since), seen.thread, 0}; // racy read: valid memory; 0: no holder yet
  if (found.function != NULL) note_wait(*(csched_time *)now, &found);
  return true;
}

// Does: makes the thread of `each` the holder of each wait for a target or a job that this thread runs. Returns: true:
// visit the next.
static bool note_holder(csched_atfork *each, void *unused) {
  csched_frames_seen seen;
  (void)unused;
  if (!csched_frames_copy_(each, &seen)) return true;
  for (int i = 0; i < wait_count; i++)
    for (int j = 0; j < seen.count && waits[i].holder == 0 && waits[i].what != NULL; j++)
      if (seen.frames[j].target == waits[i].what || seen.frames[j].job == waits[i].what) waits[i].holder = seen.thread;
  return true;
}

// Does: fills `waits` with all waits that are longer than the span. First finds the waits, then the threads that hold
// what they wait for.
static void note_waits(csched_time now) {
  wait_count = 0;
  note_sleepers(now);
  csched_os_atfork_visit_(&watch.marker, note_blocked, &now);
  if (wait_count > 0) csched_os_atfork_visit_(&watch.marker, note_holder, NULL);
  csched_os_atfork_end_(&watch.marker); // unlinks the marker, if a visit has left it in the list
}

// Returns: a hash of the waiting thread and the start of the wait, which identify the wait. The multiplications mix the
// bits.
static uint64_t hash_of(const wait *wait) {
  uint64_t hash = (wait->thread * 0x9e3779b97f4a7c15u ^ wait->since) * 0xc2b2ae3d27d4eb4fu;
  return hash ^ hash >> 32;
}

// Returns: whether the wait or deadlock with this hash was reported. If not, adds the hash to `reported`, because the
// caller reports it now.
static bool was_reported(uint64_t hash) { // WD1: the hash contains thread and start of each wait
  for (int i = 0; i < REPORTED; i++)
    if (reported[i] == hash) return true;
  reported[reported_count++ % REPORTED] = hash;
  return false;
}

static csched_watch_report report_of(csched_watched kind, const wait *found, csched_time span) {
  return (csched_watch_report){.kind = kind,
                               .span = span,
                               .thread = found->thread,
                               .target_name = "",
                               .function = found->function,
                               .what = found->what};
}

// Does: reports the waits in `waits` that were not reported yet. The details describe the thread, its target, the
// holder, and the thread's stack.
static void check_waits(csched_time now) {
  for (int i = 0; i < wait_count; i++) {
    if (was_reported(hash_of(&waits[i]))) continue;
    csched_watch_report report = report_of(CSCHED_WATCHED_WAIT, &waits[i], now - waits[i].since);
    csched_text text = begin_details();
    csched_dump_thread_(&text, waits[i].thread);
    csched_dump_target_(&text, waits[i].what);
    csched_dump_thread_(&text, waits[i].holder);
    csched_stack_add_(&text, waits[i].thread);
    call_report(&report, text);
  }
}

// MARK: deadlocks

// Returns: the wait of the holder of `wait`; NULL: the holder is not known, or does not wait. A thread may have two
// waits: one in a function, and one for a lock inside that function. Then the result is the wait with a known holder.
static const wait *next_wait(const wait *wait) {
  const struct wait *next = NULL;
  for (int i = 0; wait->holder != 0 && i < wait_count; i++)
    if (waits[i].thread == wait->holder && (next == NULL || next->holder == 0)) next = &waits[i];
  return next;
}

// Returns: whether the waits from `first` on lead back to it. `first` must have the circle's lowest thread number, so
// each circle is found once. `*hash`: the sum of the hashes of the waits.
static bool is_circle(const wait *first, uint64_t *hash) {
  const wait *each = first;
  *hash = 0;
  for (int i = 0; i < wait_count && each != NULL && each->thread >= first->thread; i++) { // `i` bounds the walk
    *hash += hash_of(each);
    if ((each = next_wait(each)) == first) return true;
  }
  return false;
}

// Returns: whether the previous check found the circle with this hash. Stores for the next check that this check found
// it.
static bool was_found_before(uint64_t hash) { // WD4: a deadlock is found by two checks in a row
  for (int i = 0; i < DEADLOCKS; i++) {
    if (deadlocks[i].hash != hash) continue;
    bool was_found = deadlocks[i].check == check_number - 1;
    deadlocks[i].check = check_number;
    return was_found;
  }
  deadlocks[deadlock_count++ % DEADLOCKS] = (deadlock){hash, check_number};
  return false;
}

static void add_wait(csched_text *text, const wait *wait, csched_time now) { // adds a line for one wait
  csched_text_thread_(text, "", wait->thread);
  csched_text_add_(text, " waits in ");
  csched_text_add_(text, wait->function);
  csched_text_target_(text, " for", wait->what, "");
  csched_text_thread_(text, ", which is held by ", wait->holder);
  csched_text_add_(text, ", since ");
  csched_text_span_(text, now - wait->since);
  csched_text_add_(text, "\n");
}

// Does: reports the circle of waits that begins at `first`: first a line for each wait, then each thread with its
// stack.
static void report_deadlock(const wait *first, csched_time now) {
  csched_text text = begin_details();
  csched_time complete_since = 0; // the latest start of a wait in the circle
  const wait *each = first;
  do {
    add_wait(&text, each, now);
    if (each->since > complete_since) complete_since = each->since;
  } while ((each = next_wait(each)) != first);
  do {
    csched_dump_thread_(&text, each->thread);
    csched_stack_add_(&text, each->thread);
  } while ((each = next_wait(each)) != first);
  csched_watch_report report = report_of(CSCHED_WATCHED_DEADLOCK, first, now - complete_since);
  call_report(&report, text);
}

// Does: reports each circle of waits that this check and the previous one have found, once (WD1, WD4).
static void check_deadlocks(csched_time now) {
  uint64_t hash;
  for (int i = 0; i < wait_count; i++)
    if (waits[i].holder != 0 && is_circle(&waits[i], &hash) && was_found_before(hash) && !was_reported(hash))
      report_deadlock(&waits[i], now);
}

// MARK: the thread

// The body of the watchdog's thread: checks four times in each span, but with pauses of 1 ms to 1 s.
static void watchdog_main(void *unused) {
  static const csched_time LEAST = 1000000, MOST = 1000000000; // ns
  csched_time interval = watch.span / 4 < LEAST ? LEAST : watch.span / 4 > MOST ? MOST : watch.span / 4;
  (void)unused;
  csched_store_relaxed(&watch.thread_id, csched_os_thread_id_()); // racy write: is_watchdog_thread reads it
  csched_os_thread_set_name_("csched-watch");
  csched_os_thread_leave_count_();                  // the library's own threads do not count as the program's
  while (csched_load_relaxed(&watch.ending) == 0) { // WD2: no check after csched_watch_end
    csched_time now = csched_now();
    check_number++;
    check_runs(now);
    check_heads(now);
    note_waits(now);
    check_waits(now);
    check_deadlocks(now);
    if (csched_load_relaxed(&watch.ending) == 0)
      csched_futex_wait_(&watch.ending, 0, now + interval); // WD2: not if a report has ended the watch
  }
  csched_store_relaxed(&watch.thread_id, 0u); // racy write: a new thread may get this number
}

// MARK: start and end

// The atfork handler: switches the watchdog off in a child. `marker` has this handler too, only because each entry
// needs one.
static void watch_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // WD3: the watchdog is off in a child
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST || atfork == &watch.marker) return;
  watch.lock = (csched_lock)CSCHED_LOCK_INIT; // its owner and its sleepers may be threads of the parent
  watch.is_on = false;
}

// Returns: whether this thread is the watchdog's. Then the caller was called by a report: the watchdog runs no other
// user code.
static bool is_watchdog_thread(void) {
  return csched_load_relaxed(&watch.thread_id) == csched_os_thread_id_(); // racy read: equal on that thread only
}

static void end_locked(void) { // if the watchdog is on, ends it, and waits for the end of its thread
  if (!watch.is_on) return;
  csched_observe_end_(CSCHED_OBSERVED_BY_WATCH);
  csched_store_relaxed(&watch.ending, 1u); // WD2: no further report
  csched_futex_wake_(&watch.ending, 1);
  csched_os_thread_join_(watch.thread);
  watch.is_on = false;
}

// Does: starts the watchdog with the settings in `watch`. Returns: 0 or an errno value.
static int start_locked(void) {
  int error = csched_observe_begin_(CSCHED_OBSERVED_BY_WATCH);
  if (error != 0) return error;
  csched_os_atfork_end_(&watch.marker); // in a child of fork, the parent's check may have linked the marker
  watch.marker.handler = watch_at_fork;
  watch.ending = watch.thread_id = 0;
  error = csched_os_thread_start_internal_(&watch.thread, watchdog_main, NULL);
  watch.is_on = error == 0;
  if (error != 0) csched_observe_end_(CSCHED_OBSERVED_BY_WATCH);
  return error;
}

int csched_watch_begin(csched_time span, void (*report)(void *context, const csched_watch_report *report),
                       void *context) {
  if (span == 0) return EINVAL;
  if (is_watchdog_thread())
    csched_panic_("csched_watch_begin", "called by a report. Only csched_watch_end may be called there.");
  csched_os_atfork_(&watch.atfork, watch_at_fork); // before the lock is first owned: a child of fork resets it
  csched_observe_prepare_();
  csched_lock_lock(&watch.lock);
  end_locked(); // ends an earlier watch
  watch.span = span;
  watch.report = report != NULL ? report : write_report;
  watch.context = context;
  int error = start_locked();
  csched_lock_unlock(&watch.lock);
  return error;
}

void csched_watch_end(void) {
  csched_os_atfork_(&watch.atfork, watch_at_fork);
  if (is_watchdog_thread()) { // a report is the caller: takes no lock, because its owner may be joining this thread
    csched_store_relaxed(&watch.ending, 1u); // WD2: no further report
    csched_observe_end_(CSCHED_OBSERVED_BY_WATCH);
    return; // `is_on` stays set: a later begin or end joins this thread
  }
  csched_lock_lock(&watch.lock);
  end_locked();
  csched_lock_unlock(&watch.lock);
}

// When the library is loaded: begins a watch if the environment variable SCHEDULER_WATCH is set, with the span that it
// contains.
static int begin_for_span(csched_time span) { return csched_watch_begin(span, NULL, NULL); }
__attribute__((constructor)) static void begin_as_asked(void) { csched_os_watch_by_environment_(begin_for_span); }
