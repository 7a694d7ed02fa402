// Traces to a file: each thread adds events to a ring of its own, and the writer, the thread "csched-trace", moves them
// to the file.
// States
//   trace.is_on   whether a trace is on, under `trace.lock`
//   ending        the writer's futex: 0, or 1 when the writer must end
//   number        identifies the trace; even. An event that is added late still has the number of its earlier trace
//   a ring        `next`: number of the owner's next event; `taken`: how many events the writer has read. A full ring:
//                 they differ by EVENTS
// Invariants
//   TR1  The writer reads an event only when it is complete: the ring's owner stores the stamp, 1 + the event's number,
//        after the event.
//   TR2  No thread waits for the writer. An event for a full ring is counted as lost. No event is overwritten before
//        the writer has read it.
//   TR3  When csched_trace_end has returned, the file is complete, and no thread writes to it.
//   TR4  In a child of fork the trace is off, and the file's descriptor is closed. Only the parent writes the buffered
//       text. The rings are empty: otherwise the incomplete event of a thread that the child lacks would block later
//       events.
// Orderings
//   stamp: release, pairs with the writer's acquire, carries the event
//   taken: release, pairs with the owner's acquire: the writer has read the event before the owner overwrites its slot
// Assumes: a signal handler that interrupts `add_event` may cost one event.
// Source: a ring for each thread, and one reader, as in kernel tracers; the file format is Chrome's trace events.
// Models: checks/observe.c. Not modelled: TR3, TR4.

#include <CScheduler/trace.h>
#include <CScheduler/lock.h>
#include "../platform/platform.h"
#include "trace_internal.h"
#include <errno.h>

enum { EVENTS = CSCHED_TRACE_EVENTS }; // of one ring
enum { READ_INTERVAL = 2000000 };      // ns between two reads of the rings

// An entry of a ring. `stamp`: 1 + the number of the event that it contains. Another stamp than the reader expects: the
// event is not complete yet.
typedef struct slot {
  uint64_t stamp;
  csched_trace_event event;
} slot;

typedef struct csched_trace_ring {
  CSCHED_CACHE_ALIGNED uint64_t next;  // number of the next event to add; only the owner writes it
  CSCHED_CACHE_ALIGNED uint64_t taken; // how many events the writer has read; only the writer writes it
  uint64_t lost;                       // a count of events for which the ring was full
  slot slots[EVENTS];
} csched_trace_ring;

static struct {
  csched_lock lock;     // guards the following fields, except `ending`, `number` and the counts
  csched_atfork atfork; // calls trace_at_fork
  csched_os_thread thread;
  csched_trace_file *file; // the open trace file, of the descriptor `fd`
  int fd;
  bool is_on;                                          // a trace is on: the writer exists
  uint32_t ending;                                     // the writer's futex: 1: it must end
  uint64_t lost_without_ring, lost_without_submission; // lost events: no memory for a ring; ends of lost submissions
  uint32_t number; // identifies this trace; even. number + 1: a submission that was lost
} trace;

// MARK: adding events, on the thread that owns the ring

// Returns: the calling thread's ring, allocated for its first event; NULL without memory. `observer`: the thread's
// record.
static csched_trace_ring *ring_of(csched_observer *observer) {
  csched_trace_ring *none = NULL, *made = NULL;
  if (CSCHED_LIKELY(observer->ring != NULL) || (made = csched_os_memory_allocate_(sizeof *made)) == NULL)
    return observer->ring;
  if (!csched_cas_release(&observer->ring, &none, made)) // TR1: pairs with seen_ring, publishes zeroed slots
    csched_os_memory_free_(made, sizeof *made);          // a signal handler has been here meanwhile
  return observer->ring;
}

// Returns: the calling thread's ring, if it has room for one more event; else NULL, after counting the event as lost.
static csched_trace_ring *ring_with_room(csched_observer *observer) {
  csched_trace_ring *ring = observer != NULL ? ring_of(observer) : NULL;
  if (ring == NULL) {
    csched_fetch_add_relaxed(&trace.lost_without_ring, 1u); // a count of lost events
    return NULL;
  }
  uint64_t next = csched_load_relaxed(&ring->next);                   // TR1: only this thread writes it, so it is exact
  if (next - csched_load_acquire(&ring->taken) < EVENTS) return ring; // TR2: the writer has read that slot
  csched_fetch_add_relaxed(&ring->lost, 1u);                          // a count of lost events
  return NULL;
}

// Does: adds the event to the calling thread's ring. Returns: false: the event was lost, because there is no ring, or
// it is full.
static bool add_event(csched_observer *observer, csched_trace_event *event) {
  csched_trace_ring *ring = ring_with_room(observer);
  if (ring == NULL) return false;
  uint64_t next = csched_load_relaxed(&ring->next); // TR1: read again: a signal handler may have added an event
  csched_store_relaxed(&ring->next, next + 1);      // TR1: reserves the slot; a signal handler takes the next
  slot *slot = &ring->slots[next % EVENTS];
  slot->event = *event;
  slot->event.thread = csched_os_thread_id_();
  csched_store_release(&slot->stamp, next + 1); // TR1: complete; pairs with the writer's acquire
  return true;
}

// Returns: whether the event ends a submission. A run is added when it ends.
static bool is_end(uint32_t what) {
  return what == CSCHED_OCCURRED_RUN || what == CSCHED_OCCURRED_CANCEL || what == CSCHED_OCCURRED_DROP;
}

// Contract: trace_internal.h. `event->trace` of the end of a submission: what this function has returned for the
// submission. That is 0: not added, because no trace was on; the trace's `number`: in a ring; `number` + 1: lost.
uint32_t csched_trace_add_(csched_observer *observer, csched_trace_event *event) {
  if ((csched_load_relaxed(&csched_observed_) & CSCHED_OBSERVED_BY_TRACE) == 0) // TR3: a late thread misses events
    return 0;
  uint32_t number = csched_load_relaxed(&trace.number); // TR3: may be old; the file skips events of other traces
  if (is_end(event->what) && event->trace != number) {  // the trace does not contain the submission
    if (event->trace == number + 1) csched_fetch_add_relaxed(&trace.lost_without_submission, 1u); // a count of events
    return 0;
  }
  event->trace = number;
  return add_event(observer, event) ? number : number + 1;
}

// MARK: reading the rings, on the writer

// Returns: the ring of the owner of `observer`; NULL: it has none.
static csched_trace_ring *seen_ring(csched_observer *observer) {
  return csched_load_acquire(&observer->ring); // TR1: pairs with ring_of: slots are zeroed
}

void csched_trace_drain_(csched_observer *observer, void (*consume)(void *context, const csched_trace_event *event),
                         void *context) { // removes the ring's complete events; `consume` gets each, unless NULL
  csched_trace_ring *ring = seen_ring(observer);
  uint64_t taken = ring != NULL ? csched_load_relaxed(&ring->taken) : 0; // TR1: only the writer writes it
  for (int i = 0; ring != NULL && i < EVENTS; i++, taken++) {            // bounded: a busy thread adds events meanwhile
    slot *slot = &ring->slots[taken % EVENTS];
    if (csched_load_acquire(&slot->stamp) != taken + 1) break; // TR1: not complete; pairs with add_event
    if (consume != NULL) consume(context, &slot->event);
    csched_store_release(&ring->taken, taken + 1); // TR2: slot is free; pairs with ring_with_room
  }
}

uint64_t csched_trace_lost_(csched_observer *observer) {
  csched_trace_ring *ring = seen_ring(observer);
  return ring != NULL ? csched_load_relaxed(&ring->lost) : 0; // a count of lost events
}

static void write_event(void *file, const csched_trace_event *event) { csched_trace_file_add_(file, event); }

// Does: transfers the events of all rings to `file`; NULL: discards them. Returns: the number of events lost since the
// process started.
static uint64_t drain_all(csched_trace_file *file) {
  uint64_t lost = csched_observe_missed_() + csched_load_relaxed(&trace.lost_without_ring) + // a count of events
                  csched_load_relaxed(&trace.lost_without_submission);                       // a count of events
  for (csched_observer *each = csched_observers_(); each != NULL; each = each->next) {
    csched_trace_drain_(each, file != NULL ? write_event : NULL, file);
    lost += csched_trace_lost_(each);
  }
  return lost;
}

// The body of the writer's thread: transfers events to the file every 2 ms, until csched_trace_end.
static void write_trace(void *context) {
  csched_trace_file *file = context;
  csched_os_thread_set_name_("csched-trace");
  csched_os_thread_leave_count_();                  // the library's own threads do not count as the program's
  while (csched_load_relaxed(&trace.ending) == 0) { // TR3: 1: csched_trace_end was called
    csched_futex_wait_(&trace.ending, 0, csched_now() + READ_INTERVAL); // csched_trace_end ends the wait early
    drain_all(file);
    csched_trace_file_flush_(file);
  }
}

// MARK: start and end

static void trace_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // TR4: the trace is off in a child
  (void)atfork;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  trace.lock = (csched_lock)CSCHED_LOCK_INIT;
  for (csched_observer *each = csched_observers_(); each != NULL; each = each->next)
    if (each->ring != NULL) each->ring->taken = each->ring->next; // TR4: empties the ring
  if (trace.is_on) csched_os_close_(trace.fd);
  trace.is_on = false; // the child lacks the writer
}

static uint64_t lost_before; // how many events were lost before this trace: drain_all's result at the trace's start

// Does: opens the file, turns the trace on, and starts the writer. Returns: 0; EBUSY: a trace is on; another errno
// value. An error undoes all steps.
static int begin_locked(const char *path) {
  if (trace.is_on) return EBUSY;
  int error = csched_os_trace_open_(path, &trace.fd);
  if (error != 0) return error;
  csched_store_relaxed(&trace.number, trace.number + 2); // TR3: before the trace is on; even: number + 1 means lost
  trace.file = csched_trace_file_make_(trace.fd, csched_now(), trace.number);
  trace.ending = 0;              // 1 since the end of an earlier trace
  lost_before = drain_all(NULL); // discards events of an earlier trace
  error = trace.file == NULL ? ENOMEM : csched_observe_begin_(CSCHED_OBSERVED_BY_TRACE);
  if (error == 0) error = csched_os_thread_start_internal_(&trace.thread, write_trace, trace.file);
  trace.is_on = error == 0;
  if (trace.is_on) return 0;
  csched_observe_end_(CSCHED_OBSERVED_BY_TRACE);
  if (trace.file != NULL) csched_trace_file_end_(trace.file, 0, 0); // 0, 0: without runs in progress; no lost events
  csched_os_close_(trace.fd);
  return error;
}

int csched_trace_begin(const char *path) {
  csched_os_atfork_(&trace.atfork, trace_at_fork);
  csched_observe_prepare_();
  csched_lock_lock(&trace.lock);
  int error = begin_locked(path);
  csched_lock_unlock(&trace.lock);
  return error;
}

// Does: turns the trace off, ends the writer, and completes the file. Returns: 0, also without a trace; or the errno
// value of a failed write.
static int end_locked(void) {
  if (!trace.is_on) return 0;
  csched_observe_end_(CSCHED_OBSERVED_BY_TRACE);
  csched_store_relaxed(&trace.ending, 1u); // TR3: before the wake: the writer sees it, and ends
  csched_futex_wake_(&trace.ending, 1);
  csched_os_thread_join_(trace.thread);
  uint64_t lost = drain_all(trace.file); // TR3: moves the events that the writer has not read
  int error = csched_trace_file_end_(trace.file, csched_now(), lost - lost_before);
  csched_os_close_(trace.fd);
  trace.is_on = false;
  return error;
}

int csched_trace_end(void) {
  csched_os_atfork_(&trace.atfork, trace_at_fork);
  csched_lock_lock(&trace.lock);
  int error = end_locked();
  csched_lock_unlock(&trace.lock);
  return error;
}

// When the library is loaded: begins a trace if the environment variable SCHEDULER_TRACE is set. At the process's exit:
// ends the trace.
__attribute__((constructor)) static void begin_as_asked(void) { csched_os_trace_by_environment_(csched_trace_begin); }
__attribute__((destructor)) static void end_at_exit(void) { csched_trace_end(); }
