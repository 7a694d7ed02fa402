// The flight recorder, which records the most recent runs of each thread: see recorder_internal.h. No atomics: a thread
// writes only its own recorder; other threads copy it by csched_os_copy_if_mapped_, and the copy may be inconsistent.
// Source: the flight recorders of aircraft, and of the Java Virtual Machine.

#include "recorder_internal.h"

#include "../base/dump_slots.h"
#include "../base/panic.h"
#include "../base/text.h"
#include "../platform/platform.h"
#include "observed.h"

#include <errno.h>

// A report shows about MOST runs, and at least LEAST of each thread. A ring is copied one stretch (CHUNK) at a time.
// LINE: bytes for a line.
enum { MOST = 10000, LEAST = 64, CHUNK = 64, BUFFER = 4096, LINE = 512, SLOTS = CSCHED_DUMP_SLOTS };

// MARK: on the recorder's thread

csched_recorder csched_recorder_none_; // never written
CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_recorder *csched_recorder_here_ = &csched_recorder_none_;

void csched_recorder_begin_(csched_recorder *recorder) {
  recorder->recording = csched_os_memory_allocate_(sizeof *recorder->recording);
  // No room: the first run calls csched_recorder_make_room_, which reads the clock.
  recorder->next = recorder->limit = recorder->recording != NULL ? recorder->recording->entries : recorder->few;
}

void csched_recorder_free_(csched_recorder *recorder) {
  if (recorder->recording != NULL) csched_os_memory_free_(recorder->recording, sizeof *recorder->recording);
}

// Does: makes room for the thread's next runs: continues the present stretch or begins the next one, and reads the
// clock.
void csched_recorder_make_room_(void) {
  csched_recorder *recorder = csched_recorder_here_;
  csched_recording *recording = recorder->recording;
  csched_recorded *first = recording != NULL ? recording->entries : recorder->few; // the ring's first entry
  if (recorder == &csched_recorder_none_) return; // it is shared by all threads, and never written
  long size = recording != NULL ? CSCHED_RECORDED : CSCHED_RECORDED_FEW, at = recorder->next - first;
  if (at == size) at = 0; // the ring is full: continues with its oldest entry
  recorder->begun = csched_now();
  if (recording != NULL) recording->times[at / CSCHED_RECORDED_STRETCH] = recorder->begun;
  long end = (at / CSCHED_RECORDED_STRETCH + 1) * CSCHED_RECORDED_STRETCH; // of the stretch that contains `at`
  recorder->next = first + at;
  recorder->limit = first + (end < size ? end : size);
}

// MARK: on any thread

// Returns: the earliest possible start of the thread's most recent run, if that run called `run`; else 0.
csched_time csched_recorder_run_start_(const csched_recorder *recorder, void (*run)(csched_job *job)) {
  csched_recorder copy;
  csched_recorded last; // the most recent run: the entry before `next`
  if (recorder == NULL || !csched_os_copy_if_mapped_(&copy, recorder, sizeof copy) || copy.begun == 0) return 0;
  return csched_os_copy_if_mapped_(&last, copy.next - 1, sizeof last) && last.run == run ? copy.begun : 0;
}

enum { NAMES = 16, NAME = 160 }; // function names in a report's cache; bytes of one

// A text with recent runs, written to `fd`. `codes` and `names` cache function names, because a look-up may read a
// whole file.
typedef struct report {
  int fd, error;        // error: 0, or the errno value of the first failed write
  bool may_wait;        // a write may block
  csched_text text;     // unwritten text, in `buffer`
  csched_recorded last; // the previous run, whose line is not written yet
  uint64_t times;       // how many runs in a row equal `last`: they share one line; 0: no line is to be written
  uintptr_t codes[NAMES];
  char names[NAMES][NAME];
  char buffer[BUFFER];
} report;

// Returns: the name of the function at `code`, from the cache if it is there.
static const char *name_of_code(report *to, uintptr_t code) {
  size_t at = (size_t)((code >> 2) * 0x9e3779b97f4a7c15u >> 60); // Fibonacci hashing, to 4 bits: 16 NAMES
  if (to->codes[at] != code) csched_os_code_name_(code, to->names[at], NAME);
  to->codes[at] = code;
  return to->names[at];
}

// Does: writes the text in the buffer to `fd`, unless an earlier write has failed, and empties the buffer.
static void flush_text(report *to) {
  size_t size = (size_t)(to->text.at - to->buffer);
  if (to->error == 0 && !to->may_wait) to->error = csched_os_can_write_(to->fd);
  if (to->error == 0) to->error = csched_os_write_(to->fd, to->buffer, size);
  to->text = csched_text_in_(to->buffer, BUFFER);
}

static void end_line(report *to) {
  csched_text_add_(&to->text, "\n");
  if (to->text.end - to->text.at < LINE) flush_text(to); // the next line might not fit
}

// Does: appends the run's context. If the context is the address of a Swift closure's code plus 1, appends the
// closure's name instead.
static void add_context(report *to, const csched_recorded *entry) {
  uintptr_t context = (uintptr_t)entry->context;
  if ((context & 1) == 0 || csched_observe_hooks_ == NULL || !csched_observe_hooks_->has_code(entry->run)) {
    csched_text_target_(&to->text, ", context", (const void *)context, "");
    return;
  }
  csched_text_add_(&to->text, ", closure ");
  csched_text_add_(&to->text, name_of_code(to, context - 1));
}

// Does: writes the line of the `times` equal runs that are not written yet.
static void write_counted_runs(report *to) {
  if (to->times == 0) return;
  csched_text_add_(&to->text, "  ");
  csched_text_add_(&to->text, name_of_code(to, (uintptr_t)to->last.run));
  csched_text_target_(&to->text, " of", to->last.target, "");
  add_context(to, &to->last);
  if (to->times > 1) csched_text_add_(&to->text, ", times ");
  if (to->times > 1) csched_text_number_(&to->text, to->times);
  end_line(to);
  to->times = 0;
}

// Does: counts `entry` if it equals the previous run; else writes the previous run's line, and stores `entry`.
static void count_or_write(report *to, const csched_recorded *entry) {
  if (entry->run == NULL) return;
  bool is_same = entry->run == to->last.run && entry->target == to->last.target && entry->context == to->last.context;
  if (!is_same) write_counted_runs(to);
  to->last = *entry;
  to->times++;
}

// Does: writes how long ago `time` was; nothing for 0 or a later time than `now`, because then the copy was
// inconsistent.
static void write_time(report *to, csched_time time, csched_time now) {
  if (time == 0 || time > now) return;
  write_counted_runs(to);
  csched_text_add_(&to->text, "  about ");
  csched_text_span_(&to->text, now - time);
  csched_text_add_(&to->text, " ago");
  end_line(to);
}

// Does: writes the most recent `most` runs of a ring, one stretch at a time, each after its time.
static void write_ring(report *to, const csched_recorder *recorder, long most, csched_time now) {
  const csched_recording *recording = recorder->recording;
  csched_recorded entries[CHUNK];
  // `last`: the newest run's index. The next stretch in the ring is the oldest. `i` counts entries from its start; `at`
  // is the index of entry `i`.
  long last = recorder->next - 1 - recording->entries, from = CSCHED_RECORDED - most;
  for (long i = from - from % CHUNK; i < CSCHED_RECORDED; i += CHUNK) { // oldest first
    long at = (last - last % CHUNK + CHUNK + i) % CSCHED_RECORDED;      // the newest run is in the final stretch
    csched_time time = 0;
    if (!csched_os_copy_if_mapped_(entries, recording->entries + at, sizeof entries)) return;
    csched_os_copy_if_mapped_(&time, &recording->times[at / CSCHED_RECORDED_STRETCH], sizeof time);
    bool is_last = i == CSCHED_RECORDED - CHUNK; // the newest run's stretch: entries after `last` are old, and omitted
    if (entries[0].run != NULL) write_time(to, time, now); // NULL: the thread has not used this stretch yet
    for (long j = 0; j < (is_last ? last + 1 - at : CHUNK); j++) count_or_write(to, &entries[j]);
  }
  write_counted_runs(to);
}

// Does: writes the most recent `most` runs of `thread`. Returns: whether the thread has run any job.
static bool write_thread(report *to, const csched_recorder *from, uint32_t thread, long most) {
  csched_recorder recorder;
  if (!csched_os_copy_if_mapped_(&recorder, from, sizeof recorder) || recorder.begun == 0) return false;
  csched_text_thread_(&to->text, "Scheduler: what ", thread);
  csched_text_add_(&to->text, " has run last, the newest at the end");
  end_line(to);
  if (recorder.recording != NULL) {
    write_ring(to, &recorder, most, csched_now());
    return true;
  }
  // `recorder.next` is the oldest entry. It points into the original, `from`, not into the copy.
  for (long i = 0, next = recorder.next - from->few; i < CSCHED_RECORDED_FEW; i++)
    count_or_write(to, &recorder.few[(next + i) % CSCHED_RECORDED_FEW]);
  write_counted_runs(to);
  return true;
}

// Does: writes about MOST recent runs, an equal share for each thread. Returns: whether any thread has run a job.
static bool write_all(report *report) {
  long threads = 0;
  bool has_run = false;
  uint32_t thread;
  for (int i = 0; i < SLOTS; i++) threads += csched_dump_read_recorder_(i, &thread) != NULL;
  long most = threads > 0 ? MOST / threads : MOST;
  report->text = csched_text_in_(report->buffer, BUFFER);
  for (int i = 0; i < SLOTS && report->error == 0; i++) {
    const csched_recorder *recorder = csched_dump_read_recorder_(i, &thread);
    if (recorder != NULL && write_thread(report, recorder, thread, most > LEAST ? most : LEAST)) has_run = true;
  }
  return has_run;
}

// Does: allocates a report, which is too large for the smallest stacks. Returns: NULL without memory.
static report *begin_report(int fd, bool may_wait) {
  report *to = csched_os_memory_allocate_(sizeof *to);
  if (to != NULL) to->fd = fd, to->may_wait = may_wait;
  return to;
}

// Does: writes the remaining text, and frees the report. Returns: 0, or the errno value of the first failed write.
static int end_report(report *to) {
  flush_text(to);
  int error = to->error;
  csched_os_memory_free_(to, sizeof *to);
  return error;
}

// Does: writes the recent events of the observer, if it records them. Returns: 0 or an errno value.
static int write_events(int fd, bool may_wait) {
  return csched_observe_hooks_ != NULL ? csched_observe_hooks_->write_events(fd, may_wait) : 0;
}

int csched_recorder_write_(int fd) { // Returns: 0, or the errno value of the first failed write
  report *to = begin_report(fd, true);
  if (to == NULL) return ENOMEM;
  write_all(to);
  int error = end_report(to);
  return error != 0 ? error : write_events(fd, true);
}

void csched_recorder_say_(const char *message) { // prints `message`, all recordings, and `message` again
  csched_os_say_(message);
  report *to = csched_os_can_write_(2) == 0 ? begin_report(2, false) : NULL; // 2: standard error
  if (to == NULL) return;
  bool has_run = write_all(to);
  end_report(to);
  write_events(2, false);
  if (has_run) csched_os_say_(message); // the recordings have scrolled the first copy away
}

// When the library is loaded: from now on a panic also writes the recordings.
__attribute__((constructor)) static void install_recorder(void) { csched_panic_say_ = csched_recorder_say_; }
