// The watchdog: the thread "csched-watch" reports runs, waits in queues and blocking waits that take longer than a given span.
// States of ending, the watchdog thread's futex: 0, or 1 when the thread must end
// Invariants
//   WD1  A run, or a target's longest-waiting submission, is reported once; the submission's number identifies it. A blocking wait is reported once
//       while it is among the last WAITS reported; its thread and start identify it.
//   WD2  `report` is called by one thread at a time, with no lock held. No call starts after csched_watch_end has returned. A report may call
//       csched_watch_end.
//   WD3  A child of fork has no watchdog.
// Orderings
//   ending: relaxed; only its value matters
// Assumes: a report of a run that has just ended is still useful: the run was too long.
// Source: watchdogs of main threads, and stall detectors of runtimes.
// Checked by: "the watchdog tells of a long run, a long wait in a queue, and a wait that blocks", "a watchdog can be ended by its report".
// Models: none. Not modelled: WD1, WD2, WD3.

#include <CScheduler/watch.h>

#include <CScheduler/dump.h>
#include <CScheduler/lock.h>

#include "../base/panic.h"
#include "../job/frames_internal.h"
#include "../sync/parking.h"
#include "dump_internal.h"
#include "observe_internal.h"

#include <errno.h>

enum { WAITS = 64, NOTED = 8 }; // reported waits that are remembered; entries that one step copies under a lock

// A blocking wait of a thread.
typedef struct wait {
  uint32_t thread;
  csched_dump_wait seen;
} wait;

static struct {
  csched_lock lock;            // guards the following fields, except `ending` and `thread_id`
  csched_atfork atfork, place; // `place`: marks the position of a check in the fork list
  csched_os_thread thread;
  csched_time span;
  void (*report)(void *context, const csched_watch_report *report);
  void *context;
  bool is_on;
  uint32_t ending, thread_id; // the thread's futex; the system's number of the thread, 0 while there is none
} watch;

// Used by the watchdog's thread only.
static uint64_t check_number; // of the current check of the queues' heads
static wait reported_waits[WAITS];
static unsigned reported_count;

// MARK: reports

static void write_report(void *unused, const csched_watch_report *report) {
  char line[512];
  csched_text text = {line, line + sizeof line - 1};
  (void)unused;
  if (report->thread != 0) csched_text_thread_(&text, "", report->thread);
  csched_text_add_(&text, report->kind == CSCHED_WATCHED_RUN    ? " has run "
                          : report->kind == CSCHED_WATCHED_WAIT ? " has waited in "
                                                                : "");
  csched_text_add_(&text, report->kind == CSCHED_WATCHED_WAIT ? report->function : report->code_name);
  csched_text_add_(&text, report->kind == CSCHED_WATCHED_RUN    ? " of "
                          : report->kind == CSCHED_WATCHED_WAIT ? " for "
                                                                : " has waited on ");
  if (report->kind == CSCHED_WATCHED_WAIT) csched_text_address_(&text, report->what);
  else csched_text_add_(&text, report->target_name);
  csched_text_add_(&text, " since ");
  csched_text_span_(&text, report->span);
  *text.at = 0;
  csched_say_("csched_watch_begin", "%s", line);
  csched_recorder_write(2);
}

static void make_report(csched_watch_report *report) { // WD2: on one thread
  char name[240] = "";
  if (csched_load_relaxed(&watch.ending) != 0) return; // WD2: no report after the end
  if (report->code != 0) csched_os_code_name_(report->code, name, sizeof name);
  csched_os_demangle_(name, sizeof name);
  report->code_name = name;
  watch.report(watch.context, report);
}

static void add_target(csched_watch_report *report, const csched_figures *figures, uint64_t number) {
  report->target_name = "";
  if (!csched_figures_are_(figures, number)) return;
  report->target = figures->target;
  report->target_name = figures->name;
  report->waiting = csched_load_relaxed(&figures->waiting); // a count of jobs
}

// MARK: checks

static void check_runs(csched_time now) {
  for (csched_observer *each = csched_observers_(); each != NULL; each = each->next) {
    for (uint32_t depth = 0; depth < CSCHED_OBSERVED_DEPTH; depth++) {
      csched_observed_level level;
      if (!csched_observer_look_(each, depth, &level) || now < level.since || now - level.since <= watch.span) continue;
      if (each->reported[depth] == level.id) continue; // WD1: reported already
      each->reported[depth] = level.id;
      csched_watch_report report = {.kind = CSCHED_WATCHED_RUN, .span = now - level.since, .code = level.code};
      report.thread = csched_observer_thread_(each);
      add_target(&report, level.figures, level.number);
      make_report(&report);
    }
  }
}

// Does: stores in the target's figures the submission that has been due for the longest time.
static void note_head(const csched_seen *seen, void *unused) {
  csched_figures *figures = seen->figures;
  (void)unused;
  if (figures == NULL || seen->due == CSCHED_FOREVER) return;
  if (figures->head_look == check_number && figures->head_due <= seen->due) return;
  figures->head_look = check_number;
  figures->head_due = seen->due;
  figures->head = seen->id;
}

static void check_heads(csched_time now) {
  csched_figures *each;
  check_number++;
  csched_observe_visit_(note_head, NULL);
  for (size_t i = 0; (each = csched_figures_at_(i)) != NULL; i++) {
    if (each->head_look != check_number || each->reported == each->head) continue; // WD1: reported already
    if (now < each->head_due || now - each->head_due <= watch.span) continue;
    each->reported = each->head;
    csched_watch_report report = {.kind = CSCHED_WATCHED_HEAD, .span = now - each->head_due};
    add_target(&report, each, csched_figures_number_(each));
    make_report(&report);
  }
}

// Returns: whether this wait was reported already. If not, remembers it as reported.
static bool was_reported(const wait *found) { // WD1: by thread and start
  for (int i = 0; i < WAITS; i++)
    if (reported_waits[i].thread == found->thread && reported_waits[i].seen.since == found->seen.since) return true;
  reported_waits[reported_count++ % WAITS] = *found;
  return false;
}

static void report_wait(csched_time now, const char *function, const wait *found) {
  if (now < found->seen.since || now - found->seen.since <= watch.span || was_reported(found)) return;
  csched_watch_report report = {.kind = CSCHED_WATCHED_WAIT, .span = now - found->seen.since, .thread = found->thread};
  report.target_name = "";
  report.function = function;
  report.what = found->seen.what;
  make_report(&report);
}

// Threads that sleep for a lock or another blocking object (parking.h).
static void check_sleepers(csched_time now) {
  csched_sleeping found[NOTED];
  for (int i = 0; i < CSCHED_BUCKETS_; i++) {
    int count = csched_sleepers_look_(i, found, NOTED);
    for (int j = 0; j < count; j++)
      report_wait(now, found[j].kind, &(wait){found[j].thread, {NULL, found[j].address, found[j].since}});
  }
}

// Waits copied while the fork list is locked, to report them after the unlock.
typedef struct noted {
  int count;
  wait waits[NOTED];
} noted;

static bool note_wait(csched_atfork *each, void *context) {
  noted *noted = context;
  csched_frames_seen seen;
  if (noted->count == NOTED) return false;
  if (!csched_frames_look_(each, &seen)) return true;
  wait found = {seen.thread,
                {csched_load_relaxed(&seen.wait->function), csched_load_relaxed(&seen.wait->what), // DP1: valid memory
                 csched_load_relaxed(&seen.wait->since)}}; // DP1 of dump.c: valid memory only
  if (found.seen.function != NULL) noted->waits[noted->count++] = found;
  return true;
}

// Threads that wait in a function of the library (csched_blocked_begin_).
static void check_waits(csched_time now) {
  noted noted;
  bool has_more;
  do {
    noted.count = 0;
    has_more = csched_os_atfork_visit_(&watch.place, note_wait, &noted);
    for (int i = 0; i < noted.count; i++) report_wait(now, noted.waits[i].seen.function, &noted.waits[i]);
  } while (has_more);
  csched_os_atfork_end_(&watch.place);
}

// The body of the watchdog's thread: checks four times in each span.
static void watch_all(void *unused) {
  static const csched_time LEAST = 1000000, MOST = 1000000000;
  csched_time every = watch.span / 4 < LEAST ? LEAST : watch.span / 4 > MOST ? MOST : watch.span / 4;
  (void)unused;
  csched_store_relaxed(&watch.thread_id, csched_os_thread_id_()); // racy write: equal on this thread only
  csched_os_thread_set_name_("csched-watch");
  csched_os_thread_leave_count_();
  while (csched_load_relaxed(&watch.ending) == 0) { // WD2: no check after the end
    csched_time now = csched_now();
    check_runs(now);
    check_heads(now);
    check_waits(now);
    check_sleepers(now);
    if (csched_load_relaxed(&watch.ending) == 0)
      csched_futex_wait_(&watch.ending, 0, now + every); // WD2: a report may end
  }
  csched_store_relaxed(&watch.thread_id, 0u); // racy write: the system may reuse the number for another thread
}

// MARK: start and end

static void watch_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // WD3: off in a child
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST || atfork == &watch.place) return;
  watch.lock = (csched_lock)CSCHED_LOCK_INIT;
  watch.is_on = false;
}

// Returns: whether this thread is the watchdog's, so that the caller is a report.
static bool is_report_here(void) {
  return csched_load_relaxed(&watch.thread_id) ==
         csched_os_thread_id_(); // racy read: equal on the watchdog's thread only
}

static void end_locked(void) {
  if (!watch.is_on) return;
  csched_observe_end_(CSCHED_OBSERVED_BY_WATCH);
  csched_store_relaxed(&watch.ending, 1u); // WD2: no further report
  csched_futex_wake_(&watch.ending, 1);
  csched_os_thread_join_(watch.thread);
  watch.is_on = false;
}

static int start_locked(void) {
  csched_os_signals before;
  int error = csched_observe_begin_(CSCHED_OBSERVED_BY_WATCH);
  if (error != 0) return error;
  csched_os_atfork_end_(&watch.place); // removes the marker that a fork inside a check left in the child
  watch.place.handler = watch_at_fork;
  watch.ending = watch.thread_id = 0;
  csched_os_signals_block_(&before); // the new thread inherits the mask: it runs no signal handler
  error = csched_os_thread_start_(&watch.thread, 0, watch_all, NULL);
  csched_os_signals_restore_(&before);
  watch.is_on = error == 0;
  if (error != 0) csched_observe_end_(CSCHED_OBSERVED_BY_WATCH);
  return error;
}

int csched_watch_begin(csched_time span, void (*report)(void *context, const csched_watch_report *report),
                       void *context) {
  if (span == 0) return EINVAL;
  if (watch.is_on && is_report_here())
    csched_panic_("csched_watch_begin", "called by a report. End the watch there, and begin the next one elsewhere.");
  csched_os_atfork_(&watch.atfork, watch_at_fork);
  csched_observe_prepare_();
  csched_lock_lock(&watch.lock);
  end_locked();
  watch.span = span;
  watch.report = report != NULL ? report : write_report;
  watch.context = context;
  int error = start_locked();
  csched_lock_unlock(&watch.lock);
  return error;
}

void csched_watch_end(void) {
  csched_os_atfork_(&watch.atfork, watch_at_fork);
  if (is_report_here()) {                    // no lock here: a thread that joins the watchdog may hold it
    csched_store_relaxed(&watch.ending, 1u); // WD2: no further report
    csched_observe_end_(CSCHED_OBSERVED_BY_WATCH);
    return;
  }
  csched_lock_lock(&watch.lock);
  end_locked();
  csched_lock_unlock(&watch.lock);
}
