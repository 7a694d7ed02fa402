// Writes a trace as a file of Chrome's trace events: JSON, one line for each event. No atomics: one thread at a time
// uses a csched_trace_file.
//
// In this format a process has tracks, and a track has slices of time. Threads are tracks of this process. Targets are
// tracks of a second, fictitious process; its number is the number of this process plus ten million. A concurrent
// target has a track for each of its threads, because slices of one track must not overlap. A submission is a slice of
// 1 ns on its thread. An arrow with the submission's number leads from there to the run's slice.

#include "../platform/platform.h"
#include "trace_internal.h"
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 18, EVENT_BYTES = 8192 };               // of `buffer`, in bytes; the most bytes of one event
enum { CODES = 1 << 11, TRACKS = 1 << 13, CODE_NAME = 240 }; // entries of the two tables; bytes of a name

typedef struct code { // a cached name of a function
  uintptr_t address;
  char name[CODE_NAME];
} code;

typedef struct track { // the index of the entry gives the track's number in the file
  uint64_t number;     // of the target's figures; 0: a track of a thread
  uint32_t thread;     // system's number of the thread; 0: the only track of the target
} track;

struct csched_trace_file {
  int fd, error;           // `error`: errno value of the first write that failed; 0: none
  uint32_t process, trace; // number of this process; of the trace: other traces' events are skipped
  csched_time start;       // the time 0 of the file, ns
  csched_text text;        // the free part of `buffer`
  code codes[CODES];       // cache, indexed by hash
  track tracks[TRACKS];    // hash table with linear probing
  char buffer[BUFFER];
};

// MARK: text

static void add_text(csched_trace_file *file, const char *text) { csched_text_add_(&file->text, text); }
static void add_number(csched_trace_file *file, const char *prefix, uint64_t number) {
  add_text(file, prefix);
  csched_text_number_(&file->text, number);
}

// Does: adds `prefix`, then `span` (ns) in microseconds, with three decimals.
static void add_span(csched_trace_file *file, const char *prefix, csched_time span) {
  char digits[4] = {(char)('0' + span / 100 % 10), (char)('0' + span / 10 % 10), (char)('0' + span % 10), 0};
  add_number(file, prefix, span / 1000);
  add_text(file, ".");
  add_text(file, digits);
}

// Returns: the length in bytes of the UTF-8 character at `at`; 0: not valid UTF-8, also a longer form than needed, a
// surrogate, or above U+10FFFF.
static int length_of_character(const unsigned char *at) {
  int length = *at < 0x80                  ? 1
               : *at >= 0xc2 && *at < 0xe0 ? 2
               : *at >= 0xe0 && *at < 0xf0 ? 3
               : *at >= 0xf0 && *at < 0xf5 ? 4
                                           : 0;
  for (int i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80) return 0; // no continuation byte
  bool is_too_long = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
  bool is_no_character = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
  return is_too_long || is_no_character ? 0 : length;
}

// Does: adds `text` as the content of a JSON string. Bytes that are not valid UTF-8 become "?", control characters
// \u00XX.
static void add_escaped(csched_trace_file *file, const char *text) {
  static const char HEX[] = "0123456789abcdef";
  const unsigned char *at = (const unsigned char *)text;
  while (*at != 0) {
    char out[8] = "?"; // the character, escaped, and a zero
    int length = length_of_character(at);
    if (*at == '"' || *at == '\\') out[0] = '\\', out[1] = (char)*at;
    else if (*at < ' ' || *at == 127) memcpy(out, (char[]){'\\', 'u', '0', '0', HEX[*at >> 4], HEX[*at & 15], 0}, 7);
    else if (length > 0) memcpy(out, at, (size_t)length);
    add_text(file, out);
    at += length > 0 ? length : 1;
  }
}

// MARK: names

// Returns: the function's name, from the cache entry that the address's hash selects (`>> 53`: CODES is 2^11). A new
// address replaces the old one.
static const char *name_of_code(csched_trace_file *file, uintptr_t address) {
  code *cached = &file->codes[(address >> 2) * 0x9e3779b97f4a7c15u >> 53];
  if (cached->address != address) { // not cached
    cached->address = address;
    csched_os_code_name_(address, cached->name, sizeof cached->name);
    csched_os_demangle_(cached->name, sizeof cached->name);
  }
  return cached->name;
}

// Does: adds the target's name; its number, if another target has reused its figures.
static void add_target_name(csched_trace_file *file, const csched_figures *figures, uint64_t number) {
  if (csched_figures_belong_to_(figures, number)) add_escaped(file, figures->name);
  else add_number(file, "target ", number);
}

// Returns: the number of the fictitious process whose tracks are the targets. It is larger than any process number of
// Linux.
static uint64_t targets_process(const csched_trace_file *file) { return (uint64_t)file->process + 10000000; }

// Does: starts the line of an event. `phase`: the format's kind of event: M (metadata), X (slice), i (instant), C
// (counter), s and f (ends of an arrow). `thread`: the track of the event in `process`: a thread's number, or a
// target's track.
static void begin_line(csched_trace_file *file, const char *phase, uint64_t process, uint64_t thread) {
  add_text(file, ",\n{\"ph\":\"");
  add_text(file, phase);
  add_number(file, "\",\"pid\":", process);
  add_number(file, ",\"tid\":", thread);
}

// Returns: the track of the figures' number `number` (0: a thread's track) and `thread` (0: a target's only track).
// `*is_new`: this is the first use, so the caller must write the track's name. When the table is full, further tracks
// share one number.
static uint64_t track_of(csched_trace_file *file, uint64_t number, uint32_t thread, bool *is_new) {
  size_t at = (size_t)((number * 0x9e3779b97f4a7c15u ^ thread * 0xc2b2ae3d27d4eb4fu) >> 51); // 51: TRACKS is 2^13
  for (int i = 0; i < TRACKS; i++, at = (at + 1) % TRACKS) {
    track *track = &file->tracks[at];
    *is_new = track->number == 0 && track->thread == 0;
    if (*is_new) *track = (struct track){number, thread};
    if (track->number == number && track->thread == thread) return at + 1;
  }
  return TRACKS + 1;
}

// Does: at the first event of a thread, writes the name of its track.
static void announce_thread(csched_trace_file *file, uint32_t thread) {
  char name[16];
  bool is_new;
  track_of(file, 0, thread, &is_new); // only for `is_new`: in the file, a thread's track has the thread's number
  if (!is_new) return;
  csched_os_thread_get_name_(thread, name, sizeof name);
  begin_line(file, "M", file->process, thread);
  add_text(file, ",\"name\":\"thread_name\",\"args\":{\"name\":\"");
  add_escaped(file, name);
  if (name[0] == 0) add_number(file, "thread ", thread); // the thread has no name, or has ended
  add_text(file, "\"}}");
}

// Does: at the first event of a track of the event's target, writes the track's name. Returns: the track's number.
static uint64_t announce_target(csched_trace_file *file, const csched_trace_event *event) {
  bool is_new, is_concurrent = event->figures != NULL && event->figures->is_concurrent;
  uint64_t track = track_of(file, event->number, is_concurrent ? event->thread : 0, &is_new);
  if (!is_new) return track;
  begin_line(file, "M", targets_process(file), track);
  add_text(file, ",\"name\":\"thread_name\",\"args\":{\"name\":\"");
  add_target_name(file, event->figures, event->number);
  if (is_concurrent) add_number(file, " on thread ", event->thread);
  add_text(file, "\"}}");
  return track;
}

// MARK: events

static void add_time(csched_trace_file *file, csched_time time) { // since the trace's start; 0 if it is before
  add_span(file, ",\"ts\":", time > file->start ? time - file->start : 0);
}

// Does: adds the slice of a run, with its duration, or of a submission to the track `thread`. Its name is `prefix` and
// the function's name.
static void add_slice(csched_trace_file *file, const csched_trace_event *event, uint64_t process, uint64_t thread,
                      const char *kind, const char *prefix) {
  begin_line(file, "X", process, thread);
  add_time(file, event->time);
  csched_time span = event->what == CSCHED_OCCURRED_RUN ? event->span : 0;
  add_span(file, ",\"dur\":", span > 0 ? span : 1); // ns: an arrow needs a slice that is longer than 0
  add_text(file, ",\"cat\":\"");
  add_text(file, kind);
  add_text(file, "\",\"name\":\"");
  add_text(file, prefix);
  add_escaped(file, name_of_code(file, event->code));
  add_number(file, "\",\"args\":{\"submission\":", event->id);
  add_text(file, ",\"target\":\"");
  add_target_name(file, event->figures, event->number);
  add_text(file, "\"}}");
}

// Does: adds the start (`phase` "s") or the end ("f") of the arrow from a submission to its run.
static void add_arrow(csched_trace_file *file, const csched_trace_event *event, const char *phase) {
  begin_line(file, phase, file->process, event->thread);
  add_time(file, event->time);
  add_number(file, ",\"cat\":\"submission\",\"name\":\"submission\",\"id\":", event->id);
  add_text(file, "}");
}

// Does: adds a point to the counter of the target's waiting jobs; nothing without a target.
static void add_waiting(csched_trace_file *file, const csched_trace_event *event) {
  if (event->number == 0) return;
  begin_line(file, "C", targets_process(file), 0);
  add_time(file, event->time);
  add_text(file, ",\"name\":\"waiting on ");
  add_target_name(file, event->figures, event->number);
  add_number(file, "\",\"args\":{\"jobs\":", event->waiting);
  add_text(file, "}}");
}

// Does: adds a point on the thread's track, for an event other than a submission or a run. For the end of a job also a
// point of its target's counter.
static void add_instant(csched_trace_file *file, const csched_trace_event *event) {
  static const char *const NAMES[] = {[CSCHED_OCCURRED_CANCEL] = "cancel",
                                      [CSCHED_OCCURRED_DROP] = "drop",
                                      [CSCHED_OCCURRED_WAKE] = "wake",
                                      [CSCHED_OCCURRED_STEAL] = "steal",
                                      [CSCHED_OCCURRED_LOCK_WAIT] = "lock wait"};
  static const char *const REASONS[] = {"cancelled", "stopped", "refused", "no memory"}; // by csched_drop_reason
  bool is_end = event->what == CSCHED_OCCURRED_CANCEL || event->what == CSCHED_OCCURRED_DROP;
  begin_line(file, "i", file->process, event->thread);
  add_time(file, event->time);
  add_text(file, ",\"s\":\"t\",\"name\":\"");
  add_text(file, NAMES[event->what]);
  add_number(file, is_end ? "\",\"args\":{\"submission\":" : "\",\"args\":{\"address\":", event->id);
  if (is_end) add_text(file, ",\"reason\":\""), add_text(file, REASONS[event->span & 3]), add_text(file, "\"");
  if (event->what == CSCHED_OCCURRED_LOCK_WAIT) add_number(file, ",\"nanoseconds\":", event->span);
  if (event->number != 0) {
    add_text(file, ",\"target\":\"");
    add_target_name(file, event->figures, event->number);
    add_text(file, "\"");
  }
  add_text(file, "}}");
  if (is_end) add_waiting(file, event);
}

void csched_trace_file_add_(csched_trace_file *file, const csched_trace_event *event) { // adds lines of JSON
  if (event->trace != file->trace) return; // an event of another trace, added late
  if (file->text.end - file->text.at < EVENT_BYTES) csched_trace_file_flush_(file); // an event needs that room
  announce_thread(file, event->thread);
  if (event->what == CSCHED_OCCURRED_SUBMIT) {
    add_slice(file, event, file->process, event->thread, "submit", "submit ");
    add_arrow(file, event, "s");
    add_waiting(file, event);
  } else if (event->what == CSCHED_OCCURRED_RUN) {
    uint64_t track = announce_target(file, event);
    add_slice(file, event, file->process, event->thread, "run", "");
    add_arrow(file, event, "f\",\"bp\":\"e"); // "bp":"e": the arrow ends at the enclosing slice
    add_slice(file, event, targets_process(file), track, "on target", "");
    add_waiting(file, event);
  } else {
    add_instant(file, event);
  }
}

void csched_trace_file_flush_(csched_trace_file *file) {
  size_t size = (size_t)(file->text.at - file->buffer);
  if (file->error == 0 && size > 0) file->error = csched_os_write_(file->fd, file->buffer, size);
  file->text = csched_text_in_(file->buffer, BUFFER); // empties the buffer, even if the write has failed
}

// MARK: start and end

static void name_process(csched_trace_file *file, uint64_t process, const char *name) { // adds the event that names it
  begin_line(file, "M", process, 0);
  add_text(file, ",\"name\":\"process_name\",\"args\":{\"name\":\"");
  add_escaped(file, name);
  add_text(file, "\"}}");
}

csched_trace_file *csched_trace_file_make_(int fd, csched_time start, uint32_t trace) { // NULL: no memory
  char name[16];
  csched_trace_file *file = csched_os_memory_allocate_(sizeof *file);
  if (file == NULL) return NULL;
  file->fd = fd;
  file->start = start;
  file->trace = trace;
  file->process = csched_os_process_id_();
  file->text = csched_text_in_(file->buffer, BUFFER);
  csched_os_thread_get_name_(file->process, name, sizeof name); // of the main thread
  add_text(file, "[{\"ph\":\"M\",\"name\":\"trace\",\"args\":{\"of\":\"Scheduler\"}}");
  name_process(file, file->process, name);
  name_process(file, targets_process(file), "targets");
  return file;
}

// Does: adds the runs in progress of all threads, as slices that end at `now`.
static void add_running(csched_trace_file *file, csched_time now) {
  for (const csched_observer *each = csched_observers_(); each != NULL; each = each->next) {
    csched_recorded_run run;
    for (uint32_t depth = 0; depth < CSCHED_OBSERVED_DEPTH; depth++) {
      if (!csched_observer_copy_run_(each, depth, &run)) continue; // no run at this depth, or it has just ended
      csched_trace_event event = {
          .what = CSCHED_OCCURRED_RUN, .time = run.since, .span = now - run.since, .id = run.id};
      event.code = run.code;
      event.figures = run.figures;
      event.number = run.number;
      event.trace = run.trace;
      event.thread = csched_observer_thread_(each);
      csched_trace_file_add_(file, &event);
    }
  }
}

int csched_trace_file_end_(csched_trace_file *file, csched_time now, uint64_t lost) { // completes and frees it
  if (now != 0) add_running(file, now); // 0: the trace has not started, so there are no runs
  if (file->text.end - file->text.at < EVENT_BYTES) csched_trace_file_flush_(file);
  begin_line(file, "M", file->process, 0);
  add_number(file, ",\"name\":\"lost events\",\"args\":{\"count\":", lost);
  add_text(file, "}}\n]\n");
  csched_trace_file_flush_(file);
  int error = file->error;
  csched_os_memory_free_(file, sizeof *file);
  return error;
}
