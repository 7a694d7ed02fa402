// Writes a dump at a signal. First the signal handler writes a table of threads and loops, then the writer, the thread
// "csched-dump", a whole dump.
// States of asked, a futex: ASKED (2) times the number of signals, plus ENDING (1) when the writer must end served, of
//   the writer: the value that `asked` had before the newest dump. Another value of `asked` now: a signal came, so one
//   more dump is needed
// Invariants
//   DS1  After a signal the writer starts and finishes a whole dump, unless csched_dump_on_signal ends the writer
//       first. The handler adds to `asked`, then wakes the writer. The writer checks `asked` before it sleeps, so it
//       misses no signal. All signals during one dump cause one more dump.
//   DS2  The handler takes no lock, allocates nothing, and preserves errno.
//   DS3  A child of fork has no writer. Its handler still writes the table.
// Orderings
//   asked: relaxed; only its value matters
// Assumes: write, a futex wake and csched_os_copy_if_mapped_ are safe in a signal handler.
// Source: the Java and Go runtimes at SIGQUIT: the handler wakes a thread, which may allocate and lock.
// Models: none. Not modelled: DS1, DS2, DS3.

#include <CScheduler/dump.h>
#include <CScheduler/lock.h>
#include "../base/dump_slots.h"
#include "../base/text.h"
#include "../loop/loop_internal.h"
#include <errno.h>

enum { SLOTS = CSCHED_DUMP_SLOTS, MOST_FRAMES = 8 }; // slots of each table; context frames written for a thread
enum { ENDING = 1, ASKED = 2 };                      // in `asked`: a flag; one signal
// The installed handler, and the writer: the thread that writes whole dumps.
static struct {
  csched_lock lock;         // guards the following fields, except `fd` and `asked`
  csched_atfork atfork;     // calls dump_signal_at_fork
  csched_os_handler before; // the signal's previous handler
  csched_os_thread thread;
  int signal;      // 0: no handler is installed
  bool has_thread; // the writer exists
  int32_t fd;      // where dumps are written
  uint32_t asked;  // futex: ASKED times the number of signals, plus ENDING
} writer;

// MARK: the handler

// Does: adds the address of the function of the context frame's job, and the target. Without the function, if the job
// was freed or is a placeholder.
static void add_frame(csched_text *text, const csched_frame *frame) {
  csched_job job;
  csched_job_type type = {NULL, NULL, NULL};
  if (frame->job != NULL && csched_os_copy_if_mapped_(&job, frame->job, sizeof job))
    csched_os_copy_if_mapped_(&type, job.type, sizeof type);
  csched_text_add_(text, type.run != NULL ? ", runs job code " : ", inside");
  if (type.run != NULL) csched_text_address_(text, (void *)(uintptr_t)type.run);
  csched_text_target_(text, " of", frame->target, "");
}

// Does: writes the line of the thread whose csched_frame_top_ is at `top`. The system copies context frames and jobs,
// which another thread may free.
static void write_thread(int fd, uint32_t thread, csched_frame *const *top) {
  char line[512];
  csched_text text = csched_text_in_(line, sizeof line - 1);
  csched_frame *each, copy;
  csched_text_add_(&text, "thread ");
  csched_text_number_(&text, thread);
  bool is_there = csched_os_copy_if_mapped_(&each, top, sizeof each);
  for (int i = 0; is_there && i < MOST_FRAMES; i++, each = copy.outer) {
    if (!csched_os_copy_if_mapped_(&copy, each, sizeof copy) || copy.outer == NULL) break; // NULL: the list's end
    add_frame(&text, &copy);
  }
  text.end++; // the last byte of `line`, reserved for the newline, which even a line that was cut needs
  csched_text_add_(&text, "\n");
  csched_os_write_(fd, line, (size_t)(text.at - line));
}

static void write_loop(int fd, const csched_target *loop) { // writes the loop's line; reads only copies of its fields
  char line[128];
  csched_text text = csched_text_in_(line, sizeof line);
  uint32_t thread, closing;
  size_t timers;
  if (!csched_loop_copy_state_(loop, &thread, &closing, &timers))
    return; // the loop was freed, or the system refuses the copy
  csched_text_target_(&text, "loop", loop, "");
  csched_text_add_(&text, thread != 0 ? " of thread " : " of no thread");
  if (thread != 0) csched_text_number_(&text, thread);
  csched_text_add_(&text, closing != 0 ? ": accepts no more work, " : ": ");
  csched_text_number_(&text, timers);
  csched_text_add_(&text, " delayed\n");
  csched_os_write_(fd, line, (size_t)(text.at - line));
}

// Does: writes the headline `what` of a table. `missing`: how many threads or loops the table lacks, because it was
// full.
static void write_head(int fd, const char *what, uint32_t missing) {
  char line[128];
  csched_text text = csched_text_in_(line, sizeof line);
  csched_text_add_(&text, what);
  csched_text_number_(&text, csched_os_process_id_());
  if (missing > 0) {
    csched_text_add_(&text, ", without ");
    csched_text_number_(&text, missing);
  }
  csched_text_add_(&text, "\n");
  csched_os_write_(fd, line, (size_t)(text.at - line));
}

// Does: writes the tables of threads and loops, and wakes the writer.
static void handle(int signal) { // DS2: the signal handler: no locks, no allocation
  (void)signal;
  int saved = errno, fd = csched_load_relaxed(&writer.fd); // DS2: stored before the handler was installed
  write_head(fd, "Scheduler: threads of process ", csched_dump_threads_without_());
  for (int i = 0; i < SLOTS; i++) {
    uint32_t thread;
    csched_frame *const *top = csched_dump_read_slot_(i, &thread);
    if (top != NULL) write_thread(fd, thread, top);
  }
  write_head(fd, "Scheduler: loops of process ", csched_dump_loops_without_());
  for (int i = 0; i < SLOTS; i++) {
    const csched_target *loop = csched_dump_read_loop_(i);
    if (loop != NULL) write_loop(fd, loop);
  }
  csched_fetch_add_relaxed(&writer.asked, (uint32_t)ASKED); // DS1: before the wake, so that the writer sees the signal
  csched_futex_wake_(&writer.asked, 1);
  errno = saved; // DS2: the interrupted code may read it next
}

// MARK: the writer

static void write_dumps(void *unused) { // the body of the writer's thread: a dump for each change of `asked`
  (void)unused;
  csched_os_thread_set_name_("csched-dump");
  csched_os_thread_leave_count_();               // the library's own threads do not count as the program's
  csched_os_signal_block_(writer.signal, false); // so the signal is handled even if all other threads block it
  uint32_t asked, served = 0;
  while (((asked = csched_load_relaxed(&writer.asked)) & ENDING) == 0) { // DS1: no signal is missed
    if (asked != served) csched_dump(csched_load_relaxed(&writer.fd));   // DS1: the present `fd`
    else csched_futex_wait_(&writer.asked, asked, CSCHED_FOREVER);
    served = asked;
  }
}

static void dump_signal_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // DS3: the handler stays
  (void)atfork;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  writer.lock = (csched_lock)CSCHED_LOCK_INIT;
  writer.has_thread = false; // the child lacks that thread: the next start makes a new one
}

// Does: restores the signal's previous handler, and ends the writer, if they were begun.
static void end_locked(void) {
  if (writer.has_thread) { // first: this thread does not block the signal, so it must not get it without the handler
    csched_fetch_add_relaxed(&writer.asked, (uint32_t)ENDING); // DS1: before the wake: the writer sees it, and ends
    csched_futex_wake_(&writer.asked, 1);
    csched_os_thread_join_(writer.thread);
    writer.has_thread = false;
  }
  if (writer.signal != 0) csched_os_restore_handler_(writer.signal, &writer.before);
  writer.signal = 0;
}

int csched_dump_on_signal(int signal, int fd) { // 0: no signal, ends the dumps; returns: 0 or an errno value
  csched_os_atfork_(&writer.atfork, dump_signal_at_fork);
  csched_lock_lock(&writer.lock);
  end_locked();                                  // ends an earlier installation
  csched_store_relaxed(&writer.fd, (int32_t)fd); // DS2: before the handler, which reads it, is installed
  writer.asked = 0;                              // the writer begins with `served` 0
  int error = signal != 0 ? csched_os_handle_signal_(signal, handle, &writer.before) : 0;
  if (signal != 0 && error == 0) {
    writer.signal = signal; // before the start: the writer reads it
    error = csched_os_thread_start_internal_(&writer.thread, write_dumps, NULL);
    writer.has_thread = error == 0;
  }
  if (error != 0) end_locked(); // restores the handler
  csched_lock_unlock(&writer.lock);
  return error;
}
