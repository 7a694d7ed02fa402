// The watchdog: the thread "csched-watch" reports runs, waits in queues and blocking waits that take longer than a given span.
// States of ending: the futex of the watchdog's thread: 0, or 1 when it is to end
// Invariants
//   WD1  A run, or a target's longest-waiting submission, is reported once, by the submission's number. So is a blocking wait, by its thread and
//        start, while it is among the last WAITS reported.
//   WD2  `report` is called by one thread at a time, with no lock held. No call starts after csched_watch_end has returned.
//        A report may call csched_watch_end.
//   WD3  A child of fork has no watchdog.
// Orderings
//   ending: relaxed; only its value matters
// Assumes: a run that has just ended when it is reported was still too long.
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

enum { WAITS = 64, NOTED = 8 };

typedef struct wait {
  uint32_t thread;
  csched_dump_wait seen;
} wait;

static struct {
  csched_lock lock; // guards the following fields, except `ending` and `thread_id`
  csched_atfork atfork, place;
  csched_os_thread thread;
  csched_time span;
  void (*report)(void *context, const csched_watch_report *report);
  void *context;
  bool is_on;
  uint32_t ending, thread_id;
} watch;

// Used by the watchdog's thread only.
static uint64_t look;
static wait told_waits[WAITS];
static unsigned told_count;

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

static void tell(csched_watch_report *report) { // WD2: on one thread
  char name[240] = "";
  if (csched_load_relaxed(&watch.ending) != 0) return; // WD2: none after the end
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
  report->waiting = csched_load_relaxed(&figures->waiting); // a count
}

// MARK: checks

static void look_at_runs(csched_time now) {
  for (csched_observer *each = csched_observers_(); each != NULL; each = each->next) {
    for (uint32_t depth = 0; depth < CSCHED_OBSERVED_DEPTH; depth++) {
      csched_observed_level level;
      if (!csched_observer_look_(each, depth, &level) || now < level.since || now - level.since <= watch.span) continue;
      if (each->reported[depth] == level.id) continue; // WD1: reported already
      each->reported[depth] = level.id;
      csched_watch_report report = {.kind = CSCHED_WATCHED_RUN, .span = now - level.since, .code = level.code};
      report.thread = csched_observer_thread_(each);
      add_target(&report, level.figures, level.number);
      tell(&report);
    }
  }
}

static void note_head(const csched_seen *seen, void *unused) {
  csched_figures *figures = seen->figures;
  (void)unused;
  if (figures == NULL || seen->due == CSCHED_FOREVER) return;
  if (figures->head_look == look && figures->head_due <= seen->due) return;
  figures->head_look = look;
  figures->head_due = seen->due;
  figures->head = seen->id;
}

static void look_at_heads(csched_time now) {
  csched_figures *each;
  look++;
  csched_observe_visit_(note_head, NULL);
  for (size_t i = 0; (each = csched_figures_at_(i)) != NULL; i++) {
    if (each->head_look != look || each->reported == each->head) continue; // WD1: reported already
    if (now < each->head_due || now - each->head_due <= watch.span) continue;
    each->reported = each->head;
    csched_watch_report report = {.kind = CSCHED_WATCHED_HEAD, .span = now - each->head_due};
    add_target(&report, each, csched_figures_number_(each));
    tell(&report);
  }
}

static bool is_told(const wait *found) { // WD1: by thread and start
  for (int i = 0; i < WAITS; i++)
    if (told_waits[i].thread == found->thread && told_waits[i].seen.since == found->seen.since) return true;
  told_waits[told_count++ % WAITS] = *found;
  return false;
}

static void tell_wait(csched_time now, const char *function, const wait *found) {
  if (now < found->seen.since || now - found->seen.since <= watch.span || is_told(found)) return;
  csched_watch_report report = {.kind = CSCHED_WATCHED_WAIT, .span = now - found->seen.since, .thread = found->thread};
  report.target_name = "";
  report.function = function;
  report.what = found->seen.what;
  tell(&report);
}

static void look_at_sleepers(csched_time now) {
  csched_sleeping found[NOTED];
  for (int i = 0; i < CSCHED_BUCKETS_; i++) {
    int count = csched_sleepers_look_(i, found, NOTED);
    for (int j = 0; j < count; j++)
      tell_wait(now, found[j].kind, &(wait){found[j].thread, {NULL, found[j].address, found[j].since}});
  }
}

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
                {csched_load_relaxed(&seen.wait->function), csched_load_relaxed(&seen.wait->what), // DP1, of dump.c
                 csched_load_relaxed(&seen.wait->since)}}; // DP1: valid memory only
  if (found.seen.function != NULL) noted->waits[noted->count++] = found;
  return true;
}

static void look_at_waits(csched_time now) {
  noted noted;
  bool has_more;
  do {
    noted.count = 0;
    has_more = csched_os_atfork_visit_(&watch.place, note_wait, &noted);
    for (int i = 0; i < noted.count; i++) tell_wait(now, noted.waits[i].seen.function, &noted.waits[i]);
  } while (has_more);
  csched_os_atfork_end_(&watch.place);
}

static void watch_all(void *unused) {
  static const csched_time LEAST = 1000000, MOST = 1000000000;
  csched_time every = watch.span / 4 < LEAST ? LEAST : watch.span / 4 > MOST ? MOST : watch.span / 4;
  (void)unused;
  csched_store_relaxed(&watch.thread_id, csched_os_thread_id_()); // racy write: only this thread compares equal
  csched_os_thread_set_name_("csched-watch");
  csched_os_thread_leave_count_();
  while (csched_load_relaxed(&watch.ending) == 0) { // WD2: ends when asked
    csched_time now = csched_now();
    look_at_runs(now);
    look_at_heads(now);
    look_at_waits(now);
    look_at_sleepers(now);
    if (csched_load_relaxed(&watch.ending) == 0) csched_futex_wait_(&watch.ending, 0, now + every); // WD2: else ends
  }
  csched_store_relaxed(&watch.thread_id, 0u); // racy write: another thread may get the number
}

// MARK: start and end

static void watch_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // WD3: off in a child
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST || atfork == &watch.place) return;
  watch.lock = (csched_lock)CSCHED_LOCK_INIT;
  watch.is_on = false;
}

static bool is_report_here(void) {
  return csched_load_relaxed(&watch.thread_id) == csched_os_thread_id_(); // racy read: equal on the watchdog's only
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
  csched_os_signals_block_(&before); // the thread runs no signal handler
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
  if (is_report_here()) {                    // a thread that joins this one may hold the lock
    csched_store_relaxed(&watch.ending, 1u); // WD2: no further report
    csched_observe_end_(CSCHED_OBSERVED_BY_WATCH);
    return;
  }
  csched_lock_lock(&watch.lock);
  end_locked();
  csched_lock_unlock(&watch.lock);
}
