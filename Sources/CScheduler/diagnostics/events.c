// The most recent events of each thread: a ring for each thread, in which new events overwrite the oldest.
// csched_recorder_write reports them.
// States of a slot: `stamp` 0: empty, or being written; else 1 + the number of the event, counted from 0 in each ring
// Invariants
//   RE1  A report contains whole events only. The system copies the ring for the reader, which skips an event whose
//       stamp does not match its number. The ring's thread clears the stamp before it changes the event, and stores the
//       new stamp afterwards.
//   RE2  A thread that adds an event never waits: the ring has no lock, and only its thread writes it.
// Orderings
//   stamp: release; but the system's copy is not ordered. So one event of a thread that adds events during the copy may
//   be torn.
//   ring: release, pairs with the reader's acquire, carries zeroed memory
// Assumes: a signal handler that interrupts csched_events_add_ may cost one event.
// Source: flight recorders of Java's and Go's runtimes.
// Models: none. Not modelled: RE1, RE2.

#include "events_internal.h"
#include <CScheduler/dump.h>
#include "../base/text.h"
#include "../platform/platform.h"
#include <errno.h>

// Events of a ring; most rings of a report; most events that a report writes; bytes of the buffer; most bytes of a
// line.
enum { EVENTS = 1024, RINGS = 64, WRITTEN = 2000, BUFFER = 4096, LINE = 1024 };

typedef struct slot { // `stamp`: 1 + the event's number in the ring; 0: empty, or being written
  uint64_t stamp;
  csched_trace_event event;
} slot;

typedef struct csched_events {
  uint64_t next; // number of the thread's next event, from 0
  slot slots[EVENTS];
} csched_events;

// MARK: adding events, on the thread that owns the ring

// Returns: the calling thread's ring, allocated for its first event; NULL without memory. `observer`: the thread's
// record.
static csched_events *ring_of(csched_observer *observer) {
  csched_events *none = NULL, *made = NULL;
  if (CSCHED_LIKELY(observer->events != NULL) || (made = csched_os_memory_allocate_(sizeof *made)) == NULL)
    return observer->events;
  if (!csched_cas_release(&observer->events, &none, made)) // RE1: pairs with copy_rings, publishes zeroed memory
    csched_os_memory_free_(made, sizeof *made);            // a signal handler has been here meanwhile
  return observer->events;
}

void csched_events_add_(csched_observer *observer, const csched_trace_event *event) {     // on the thread of `observer`
  bool is_on = (csched_load_relaxed(&csched_observed_) & CSCHED_OBSERVED_BY_EVENTS) != 0; // RE1: late: misses events
  csched_events *ring = is_on && observer != NULL ? ring_of(observer) : NULL;
  if (ring == NULL) return;
  uint64_t number = ring->next++; // RE2: only this thread adds; a signal handler that runs now takes the next number
  slot *slot = &ring->slots[number % EVENTS];
  csched_store_relaxed(&slot->stamp, (uint64_t)0); // RE1: a reader skips the event while it changes
  csched_fence_full();                             // RE1: the stamp is cleared before the event changes
  slot->event = *event;
  slot->event.thread = csched_os_thread_id_();
  csched_store_release(&slot->stamp, number + 1); // RE1: the event is whole: a reader may use it
}

// MARK: writing a report, on any thread

// A report in progress, with copies of the rings.
typedef struct report {
  int fd, error;            // `error`: errno value of the first write that failed; 0: none
  bool may_wait;            // false: a write that would block is an error
  int count;                // number of copied rings
  csched_text text;         // the free part of `buffer`
  uint64_t position[RINGS]; // for each ring, the number of the next event to write
  csched_events rings[RINGS];
  char buffer[BUFFER];
} report;

static void flush(report *report) { // writes the buffer, unless an earlier write has failed, and empties it
  if (report->error == 0 && !report->may_wait) report->error = csched_os_can_write_(report->fd);
  if (report->error == 0)
    report->error = csched_os_write_(report->fd, report->buffer, (size_t)(report->text.at - report->buffer));
  report->text = csched_text_in_(report->buffer, BUFFER);
}

// Does: copies the rings that have events, at most RINGS. A ring with more than EVENTS events has only the newest
// EVENTS of them.
static void copy_rings(report *report) {
  for (csched_observer *each = csched_observers_(); each != NULL && report->count < RINGS; each = each->next) {
    const csched_events *ring = csched_load_acquire(&each->events); // RE1: pairs with ring_of
    csched_events *copy = &report->rings[report->count];
    if (ring == NULL || !csched_os_copy_if_mapped_(copy, ring, sizeof *copy) || copy->next == 0) continue;
    report->position[report->count++] = copy->next > EVENTS ? copy->next - EVENTS : 0;
  }
}

// Returns: the time at which the event was added.
static csched_time time_of(const csched_trace_event *event) {
  return event->what == CSCHED_OCCURRED_RUN ? event->time + event->span : event->time; // a run is added at its end
}

// Does: advances `position` over events that are not whole. Returns: the next whole event of the copied ring `index`,
// not advanced over; NULL: none.
static const csched_trace_event *peek_event(report *report, int index) {
  const csched_events *ring = &report->rings[index];
  for (; report->position[index] < ring->next; report->position[index]++) {
    const slot *slot = &ring->slots[report->position[index] % EVENTS];
    if (slot->stamp == report->position[index] + 1) return &slot->event; // RE1: whole, and of this number
  }
  return NULL;
}

// Does: finds the earliest event of all copied rings, and advances its ring's `position`. Returns: the event; NULL: no
// more events.
static const csched_trace_event *next_earliest(report *report) {
  const csched_trace_event *earliest = NULL;
  int from = 0;
  for (int i = 0; i < report->count; i++) {
    const csched_trace_event *event = peek_event(report, i);
    if (event != NULL && (earliest == NULL || time_of(event) < time_of(earliest))) earliest = event, from = i;
  }
  if (earliest != NULL) report->position[from]++;
  return earliest;
}

static void add_code(csched_text *text, uintptr_t code) { // adds the name of the function at `code`
  char name[200];
  csched_os_code_name_(code, name, sizeof name);
  csched_os_demangle_(name, sizeof name);
  csched_text_add_(text, name);
}

// Does: adds `before` and the target's name, if the figures still belong to the event's target.
static void add_target(csched_text *text, const char *before, const csched_trace_event *event) {
  if (!csched_figures_belong_to_(event->figures, event->number)) return;
  csched_text_add_(text, before);
  csched_text_add_(text, event->figures->name);
}

static void add_event(csched_text *text, const csched_trace_event *event) { // adds what happened, and to what
  static const char *const NAMES[] = {
      [CSCHED_OCCURRED_SUBMIT] = "submit ", [CSCHED_OCCURRED_RUN] = "end ",
      [CSCHED_OCCURRED_CANCEL] = "cancel ", [CSCHED_OCCURRED_DROP] = "drop ",
      [CSCHED_OCCURRED_WAKE] = "wake",      [CSCHED_OCCURRED_STEAL] = "steal",
      [CSCHED_OCCURRED_BLOCK] = "wait",     [CSCHED_OCCURRED_LOCK_WAIT] = "end of a wait for lock",
      [CSCHED_OCCURRED_START] = "start ",
  };
  static const char *const REASONS[] = {"cancelled", "stopped", "refused", "no memory"}; // csched_drop_reason
  csched_text_add_(text, NAMES[event->what]);
  switch ((csched_occurrence)event->what) {
  case CSCHED_OCCURRED_SUBMIT:
  case CSCHED_OCCURRED_START:
  case CSCHED_OCCURRED_RUN:
  case CSCHED_OCCURRED_CANCEL:
  case CSCHED_OCCURRED_DROP:
    csched_text_number_(text, event->id);
    csched_text_add_(text, ": ");
    add_code(text, event->code);
    add_target(text, event->what == CSCHED_OCCURRED_SUBMIT ? " to " : " of ", event);
    break;
  case CSCHED_OCCURRED_WAKE:
  case CSCHED_OCCURRED_STEAL: add_target(text, " for ", event); break;
  case CSCHED_OCCURRED_BLOCK:
  case CSCHED_OCCURRED_LOCK_WAIT:
    csched_text_target_(text, event->what == CSCHED_OCCURRED_BLOCK ? " for" : "", (void *)event->id, "");
  }
  if (event->what == CSCHED_OCCURRED_DROP)
    csched_text_add_(text, ", "), csched_text_add_(text, REASONS[event->span & 3]); // a drop's `span` is its reason
  if (event->what == CSCHED_OCCURRED_RUN || event->what == CSCHED_OCCURRED_LOCK_WAIT)
    csched_text_add_(text, " after "), csched_text_span_(text, event->span);
}

// Does: adds the line of an event: how long ago, the thread, and what happened. Writes the buffer if it has no room for
// another line.
static void write_line(report *report, const csched_trace_event *event, csched_time now) {
  csched_text_add_(&report->text, "  ");
  csched_text_span_(&report->text, now > time_of(event) ? now - time_of(event) : 0);
  csched_text_thread_(&report->text, " ago, ", event->thread);
  csched_text_add_(&report->text, ": ");
  add_event(&report->text, event);
  csched_text_add_(&report->text, "\n");
  if (report->text.end - report->text.at < LINE) flush(report);
}

static uint64_t count_events(const report *report) { // returns: how many events of all rings are not written yet
  uint64_t count = 0;
  for (int i = 0; i < report->count; i++) count += report->rings[i].next - report->position[i];
  return count;
}

// Does: writes the most recent events, at most WRITTEN, in the order of time.
static void write_all(report *report) {
  csched_time now = csched_now();
  uint64_t count = count_events(report), skipped = count > WRITTEN ? count - WRITTEN : 0;
  csched_text_add_(&report->text, "Scheduler: the last events of all threads, the newest at the end\n");
  for (const csched_trace_event *event; (event = next_earliest(report)) != NULL && report->error == 0;)
    if (skipped > 0) skipped--; // the oldest events
    else write_line(report, event, now);
}

int csched_events_write_(int fd, bool may_wait) { // returns: 0, ENOMEM, or the errno value of a failed write
  if ((csched_load_relaxed(&csched_observed_) & CSCHED_OBSERVED_BY_EVENTS) == 0) return 0; // RE1: no event is added
  report *report = csched_os_memory_allocate_(sizeof *report);
  if (report == NULL) return ENOMEM;
  report->fd = fd, report->may_wait = may_wait;
  report->text = csched_text_in_(report->buffer, BUFFER);
  copy_rings(report);
  if (report->count > 0) write_all(report);
  flush(report);
  int error = report->error;
  csched_os_memory_free_(report, sizeof *report);
  return error;
}

// MARK: start and end

void csched_events_clear_(void) {
  for (csched_observer *each = csched_observers_(); each != NULL; each = each->next)
    if (each->events != NULL) each->events->next = 0; // copy_rings skips such a ring
}

int csched_events_begin(void) {
  csched_observe_prepare_();
  return csched_observe_begin_(CSCHED_OBSERVED_BY_EVENTS);
}
void csched_events_end(void) { csched_observe_end_(CSCHED_OBSERVED_BY_EVENTS); }

// When the library is loaded: begins to record events if the environment variable SCHEDULER_RECORD is 1.
__attribute__((constructor)) static void begin_as_asked(void) { csched_os_record_by_environment_(csched_events_begin); }
