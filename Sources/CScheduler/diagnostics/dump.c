// Writes a dump: a text with a line for each thread (what it runs), scheduler (its state), and sleeping thread (what it
// waits for).
//
// Dumps use the fork list (csched_os_atfork_, platform.h), which contains each thread and scheduler while it exists. A
// dump walks this list in steps: it locks the list, fills a buffer, inserts `marker` in front of the next entry,
// unlocks the list, and writes the buffer.
//
// States: none of its own
// Invariants
//   DP1  A dump reads valid memory only. It reads objects while the list is locked, and sleepers while their bucket is
//       locked. The system copies memory that another thread may free meanwhile (csched_os_copy_if_mapped_).
//   DP2  While the list is locked, a dump does not wait for user code, the loader, or a slow descriptor.
//   DP3  A dump needs one buffer for any number of objects. It terminates, because new objects are inserted in front of
//        the marker.
// Orderings: relaxed; see blocked.c, BW1.
// Assumes: the reader accepts that a line may be out of date.
// Source: the thread dumps of the Java and Go runtimes.
// Models: none. Not modelled: DP1, DP2, DP3. Not tested: DP2.

#include <CScheduler/dump.h>
#include <CScheduler/lock.h>
#include "dump_internal.h"
#include "observe_internal.h"
#include "../base/text.h"
#include "../clock/clock_internal.h"
#include "../job/frames_internal.h"
#include "../loop/loop_internal.h"
#include "../pool/pool_internal.h"
#include "../queue/queue_internal.h"
#include "../sync/lock_internal.h"
#include "../sync/parking.h"
#include "../targets/target_internal.h"
#include "../time/timer_internal.h"

enum { BUFFER = 16384, LINE = 1536 }; // bytes of the buffer; the most bytes of one line

// A dump in progress. `describe`: adds the line of a fork-list entry, if the entry is of one kind, such as a loop;
// returns whether it is.
typedef struct dump {
  int fd, error; // `error`: errno value of the first write that failed; 0: none
  bool (*describe)(const csched_atfork *atfork, csched_text *text);
  csched_text text; // the free part of `buffer`
  char buffer[BUFFER];
} dump;

static csched_lock dump_lock; // guards `marker`, so that there is one dump at a time
static csched_atfork marker;  // an entry of the fork list: the dump's position, while the list is unlocked

static void dump_at_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  (void)atfork;
  if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) dump_lock = (csched_lock)CSCHED_LOCK_INIT;
}
static csched_atfork atfork; // calls dump_at_fork at each fork: the child's `dump_lock` is free

// Does: locks `dump_lock`, so that the caller may use `marker`, and unlinks `marker`. The caller unlocks later.
static void lock_marker(void) {
  csched_os_atfork_(&atfork, dump_at_fork);
  csched_lock_lock(&dump_lock);
  marker.handler = dump_at_fork;  // a fork calls the handler of each entry
  csched_os_atfork_end_(&marker); // linked only in a child of fork, if a thread of the parent was dumping
}

// MARK: waits

// Returns: a copy of what a thread waits for, which that thread may change meanwhile. Requires: the fork list is
// locked, so `wait` is valid memory.
static csched_dump_wait copy_wait(const csched_dump_wait *wait) {
  return (csched_dump_wait){csched_load_relaxed(&wait->function), // DP1: valid memory, racy read
                            csched_load_relaxed(&wait->what),     // DP1: valid memory, racy read
                            csched_load_relaxed(&wait->since)};   // DP1: valid memory, racy read
}

// MARK: text

// Does: adds the time since the start of the thread's most recent run of `run`, as an upper bound: the recorder
// (job/recorder.c) reads the clock only for one run in 64, and for the first run after a sleep. Adds nothing if the
// time is not known.
static void add_running_time(csched_text *text, const csched_recorder *recorder, void (*run)(csched_job *)) {
  csched_time start = csched_recorder_run_start_(recorder, run), now = csched_now();
  if (start == 0 || start > now) return;
  csched_text_add_(text, "; begun at most ");
  csched_text_span_(text, now - start);
  csched_text_add_(text, " ago");
}

// Does: adds the name of the user's function that `job` calls, or of its type's `run`. `copy`: of `job`. Requires: the
// fork list is unlocked (DP2).
static void add_code(csched_text *text, const csched_job *job, const csched_job *copy, const csched_job_type *type) {
  char name[200];
  uintptr_t code = csched_observe_code_of_(job, copy);
  csched_os_code_name_(code != 0 ? code : (uintptr_t)type->run, name, sizeof name);
  csched_os_demangle_(name, sizeof name);
  csched_text_add_(text, name);
}

// Does: adds the function of the job `text->first_job`, and the time since its submission, if that was observed. Adds
// nothing for NULL. The target's description has stored the job: it is the target's first waiting job. Requires: the
// fork list is not locked (DP2).
static void add_first_job(csched_text *text) {
  csched_job job;
  csched_job_type type;
  csched_seen seen;
  const csched_job *first = text->first_job;
  text->first_job = NULL;
  if (first == NULL || !csched_os_copy_if_mapped_(&job, first, sizeof job) ||
      !csched_os_copy_if_mapped_(&type, job.type, sizeof type) || type.run == NULL)
    return;
  csched_text_add_(text, "; first job: ");
  add_code(text, first, &job, &type);
  if (!csched_observe_find_(first, &seen)) return;
  csched_text_add_(text, ", submitted ");
  csched_text_span_(text, csched_now() - seen.submitted);
  csched_text_add_(text, " ago");
}

// Does: adds what a thread runs in the context frame `frame`, up to "of". `recorder`: the thread's, if `frame` is its
// innermost one; else NULL.
static void add_job(csched_text *text, const csched_frame *frame, const csched_recorder *recorder) {
  csched_job job;
  csched_job_type type;
  const csched_job *running = frame->job;
  if (running == NULL) { // a node, or a target that was entered without a job
    csched_text_add_(text, "inside of ");
    return;
  }
  if (!csched_os_copy_if_mapped_(&job, running, sizeof job) || !csched_os_copy_if_mapped_(&type, job.type, sizeof type))
    type.run = NULL;
  if (type.run == NULL) { // a placeholder job of a run or a sync, or the job was freed
    csched_text_add_(text, "in a run or a sync of ");
    return;
  }
  csched_text_target_(text, "runs job", running, "");
  csched_text_add_(text, " (");
  add_code(text, running, &job, &type);
  add_running_time(text, recorder, type.run);
  csched_text_add_(text, ") of ");
}

// MARK: kinds of lines

// Does: adds the line of a thread: what it runs, the innermost context frame first, and what it waits for (`function`
// NULL: nothing).
static void describe_thread(const csched_frames_seen *seen, const csched_dump_wait *wait, csched_text *text) {
  csched_text_thread_(text, "", seen->thread);
  csched_text_add_(text, seen->count == 0 ? ": runs nothing" : ": ");
  for (int i = 0; i < seen->count; i++) {
    if (i > 0) csched_text_add_(text, ", ");
    add_job(text, &seen->frames[i], i == 0 ? seen->recorder : NULL);
    csched_text_address_(text, seen->frames[i].target);
  }
  if (wait->function == NULL) return;
  csched_text_add_(text, "; waits in ");
  csched_text_add_(text, wait->function);
  csched_text_target_(text, " for", wait->what, "");
  csched_text_add_(text, " since ");
  csched_text_span_(text, csched_now() - wait->since);
}

// Does: adds the target's description. Returns: false: `target` is NULL, because the entry of the fork list is of
// another kind.
static bool describe_target(const csched_target *target, csched_text *text) {
  if (target == NULL) return false;
  if (target->type->describe_ != NULL) {
    target->type->describe_(target, text);
  } else {
    csched_text_target_(text, "target", target, "");
    if (csched_target_is_orphaned_(target)) csched_text_add_(text, ": orphaned by fork");
    else if (csched_target_is_closed_(target)) csched_text_add_(text, ": accepts no more work");
  }
  return true;
}

// The values of `describe` in a dump: one function for each kind of target.
static bool describe_loop(const csched_atfork *each, csched_text *text) {
  return describe_target(csched_loop_of_atfork_(each), text);
}
static bool describe_pool(const csched_atfork *each, csched_text *text) {
  return describe_target(csched_pool_of_atfork_(each), text);
}
static bool describe_virtual(const csched_atfork *each, csched_text *text) {
  return describe_target(csched_virtual_of_atfork_(each), text);
}
static bool describe_queue(const csched_atfork *each, csched_text *text) {
  return describe_target(csched_serial_of_atfork_(each), text);
}
static bool describe_limit(const csched_atfork *each, csched_text *text) {
  return describe_target(csched_limit_of_atfork_(each), text);
}

// MARK: writing

static void flush(dump *dump) { // writes the buffer, unless an earlier write has failed, and empties it
  if (dump->error == 0) dump->error = csched_os_write_(dump->fd, dump->buffer, (size_t)(dump->text.at - dump->buffer));
  dump->text = csched_text_in_(dump->buffer, BUFFER);
}

static bool has_room(const dump *dump) { return dump->text.end - dump->text.at >= LINE; } // for one more line

static void end_line(dump *dump) {
  csched_text_add_(&dump->text, "\n");
  if (!has_room(dump)) flush(dump);
}

// Does: adds the line of an entry of the fork list; without its newline if complete_line must add a first job. Returns:
// false, with no change: the previous line is not complete, or the buffer is full. The caller unlocks the list, calls
// complete_line, and retries.
static bool add_line(csched_atfork *each, void *context) {
  dump *dump = context;
  if (!has_room(dump) || dump->text.first_job != NULL) return false;
  csched_text unlimited = dump->text;
  dump->text.end = dump->text.at + LINE - 1; // limits the line to LINE bytes with its newline
  bool is_described = dump->describe(each, &dump->text);
  dump->text.end = unlimited.end; // the rest of the buffer is free again
  if (is_described && dump->text.first_job == NULL) csched_text_add_(&dump->text, "\n");
  return true;
}

// Does: completes the most recent line with the target's first job, if it has one. Writes a full buffer. Requires: the
// fork list is not locked (DP2).
static void complete_line(dump *dump) {
  if (dump->text.first_job != NULL) {
    add_first_job(&dump->text);
    csched_text_add_(&dump->text, "\n");
  }
  if (!has_room(dump)) flush(dump);
}

// Does: adds the lines of all entries of one kind. csched_os_atfork_visit_ returns true when add_line has refused an
// entry, and then continues there.
static void add_lines(dump *dump, bool (*describe)(const csched_atfork *, csched_text *)) {
  dump->describe = describe;
  while (csched_os_atfork_visit_(&marker, add_line, dump) && dump->error == 0) complete_line(dump);
  csched_os_atfork_end_(&marker); // still linked if a failed write has ended the loop
  complete_line(dump);
}

// Copies of threads, made while the fork list is locked. DP2: names of functions are looked up after the unlock,
// because the lookup locks the loader. A library that is being loaded may create schedulers under the loader's lock,
// which locks the fork list.
typedef struct threads {
  int count;
  csched_frames_seen seen[8]; // the threads of one step of add_threads
  csched_dump_wait waits[8];
} threads;

// Does: copies the thread of `each`, if the entry is a thread's. Returns: false: no room for the copy.
static bool copy_thread(csched_atfork *each, void *context) {
  threads *noted = context;
  if (noted->count == sizeof noted->seen / sizeof noted->seen[0]) return false;
  csched_frames_seen *seen = &noted->seen[noted->count];
  if (csched_frames_copy_(each, seen)) noted->waits[noted->count++] = copy_wait(seen->wait);
  return true;
}

// Does: adds the lines of all threads: copies some with the fork list locked, adds their lines with the list unlocked,
// and repeats.
static void add_threads(dump *dump) {
  threads noted;
  bool has_more; // `noted` was full, so there are more threads
  do {
    noted.count = 0;
    has_more = csched_os_atfork_visit_(&marker, copy_thread, &noted);
    for (int i = 0; i < noted.count; i++) {
      describe_thread(&noted.seen[i], &noted.waits[i], &dump->text);
      end_line(dump);
    }
  } while (has_more && dump->error == 0);
  csched_os_atfork_end_(&marker); // still linked if a failed write has ended the loop
}

// MARK: sleepers: threads that sleep for a lock or another blocking object (parking.h)

// What a sleeper waits for if its bucket is not of locks. All these objects share the buckets.
static const char OTHER_KINDS[] = "condition, semaphore, latch, group or rwlock";

// Contract: dump_internal.h. The bucket's lock keeps the sleepers valid. The system copies them: ThreadSanitizer would
// report a plain read as a race.
int csched_sleepers_copy_(int index, csched_sleeping *found, int most) {
  csched_bucket *bucket = csched_bucket_lock_((size_t)index);
  csched_sleeper copy, *each = TAILQ_FIRST(&bucket->sleepers);
  int count = 0;
  for (; each != NULL && count < most && csched_os_copy_if_mapped_(&copy, each, sizeof copy);
       each = TAILQ_NEXT(&copy, link)) {
    bool is_lock = index < (int)CSCHED_LOCK_WAITER_FLAGS_; // only the first buckets are of locks
    uint32_t owner = is_lock ? csched_lock_owner_seen_(copy.address) : 0;
    uint32_t thread = csched_lock_thread_of_(copy.thread); // from the lock's number of the thread to the system's
    if (owner != 0) owner = csched_lock_thread_of_(owner);
    found[count++] = (csched_sleeping){is_lock ? "lock" : OTHER_KINDS, copy.address, copy.since, thread, owner};
  }
  csched_bucket_unlock_(bucket);
  return count;
}

static void add_sleeping(dump *dump, int index) { // adds a line for each sleeper of bucket `index`
  enum { MOST = 64 };                             // lines for one bucket
  csched_sleeping found[MOST];
  int count = csched_sleepers_copy_(index, found, MOST);
  for (int i = 0; i < count; i++) {
    csched_text_target_(&dump->text, found[i].kind, found[i].address, "");
    if (found[i].owner != 0) csched_text_thread_(&dump->text, ", which belongs to ", found[i].owner);
    csched_text_thread_(&dump->text, ": waited for by ", found[i].thread);
    csched_text_add_(&dump->text, " since ");
    csched_text_span_(&dump->text, csched_now() - found[i].since);
    end_line(dump);
  }
  if (count < MOST) return; // there was room for all sleepers
  csched_text_add_(&dump->text, "and perhaps more that sleep there");
  end_line(dump);
}

static void add_head(dump *dump) {
  csched_text_add_(&dump->text, "Scheduler: dump of process ");
  csched_text_number_(&dump->text, csched_os_process_id_());
  csched_text_thread_(&dump->text, ", asked for by ", csched_os_thread_id_());
  end_line(dump);
}

int csched_dump(int fd) { // writes a whole dump; returns: 0, or the errno value of the first write that failed
  dump dump = {.fd = fd};
  dump.text = csched_text_in_(dump.buffer, BUFFER);
  lock_marker();
  add_head(&dump);
  add_threads(&dump);
  add_lines(&dump, describe_loop);
  add_lines(&dump, describe_pool);
  add_lines(&dump, describe_virtual);
  add_lines(&dump, describe_queue);
  add_lines(&dump, describe_limit);
  for (int i = 0; i < CSCHED_BUCKETS_; i++) add_sleeping(&dump, i);
  csched_text_add_(&dump.text, "Scheduler: end of dump\n");
  flush(&dump);
  csched_lock_unlock(&dump_lock);
  return dump.error;
}

// MARK: one thread, for the watchdog

// The system's number of the thread to find, and copies of its context frames and wait.
typedef struct wanted_thread {
  uint32_t thread;
  csched_frames_seen seen;
  csched_dump_wait wait;
} wanted_thread;

// Does: copies the thread of `each`, if it is the wanted one. Returns: false: copied, so the visit ends.
static bool copy_if_wanted(csched_atfork *each, void *context) {
  wanted_thread *wanted = context;
  if (!csched_frames_copy_(each, &wanted->seen) || wanted->seen.thread != wanted->thread) return true;
  wanted->wait = copy_wait(wanted->seen.wait);
  return false;
}

void csched_dump_thread_(csched_text *text, uint32_t thread) { // adds the thread's line, if the fork list contains it
  wanted_thread wanted = {.thread = thread};
  lock_marker();
  bool is_found = csched_os_atfork_visit_(&marker, copy_if_wanted, &wanted); // true: the visit ended early
  csched_os_atfork_end_(&marker);
  csched_lock_unlock(&dump_lock);
  if (!is_found) return;
  describe_thread(&wanted.seen, &wanted.wait, text);
  csched_text_add_(text, "\n");
}

// MARK: one target

enum { INSIDE = 8 };
// At most INSIDE threads that run a job of `target`, such as a pool. `recorders`: NULL unless the context frame is the
// thread's innermost one.
typedef struct inside {
  const csched_target *target;
  int count;
  uint32_t threads[INSIDE];
  csched_frame frames[INSIDE];
  const csched_recorder *recorders[INSIDE];
} inside;

// Does: copies the innermost context frame of the thread of `each` that is of `noted->target`, if there is one.
// Returns: false: `noted` is full.
static bool copy_if_inside(csched_atfork *each, void *context) {
  inside *noted = context;
  csched_frames_seen seen;
  if (!csched_frames_copy_(each, &seen)) return true;
  for (int i = 0; i < seen.count; i++) {
    if (seen.frames[i].target != noted->target) continue;
    noted->threads[noted->count] = seen.thread;
    noted->frames[noted->count] = seen.frames[i];
    noted->recorders[noted->count++] = i == 0 ? seen.recorder : NULL;
    break;
  }
  return noted->count < INSIDE;
}

static void add_inside(csched_text *text, const inside *noted) { // adds what each thread runs of the target
  for (int i = 0; i < noted->count; i++) {
    csched_text_thread_(text, "; ", noted->threads[i]);
    csched_text_add_(text, " ");
    add_job(text, &noted->frames[i], noted->recorders[i]);
    csched_text_add_(text, "it"); // completes "… of " of add_job
  }
  if (noted->count == INSIDE) csched_text_add_(text, "; and perhaps more");
}

// The delayed jobs of one target, found among all timers of its root (the end of its chain of bases). A dump avoids
// this search of many timers.
typedef struct delayed {
  const csched_target *target;
  size_t count;
  csched_time first; // the least deadline; FOREVER: none
  bool is_whole;     // false: a search has stopped at its limit of timers
} delayed;

// Does: adds the jobs of `delayed->target` in `timers` (NULL: none) to `delayed`.
static void count_delayed(csched_timers *timers, delayed *delayed) {
  static const size_t MOST = 100000; // how many timers one search visits
  size_t count;
  csched_time first;
  if (timers == NULL) return;
  delayed->is_whole = csched_timers_count_for_(timers, delayed->target, MOST, &count, &first) && delayed->is_whole;
  delayed->count += count;
  if (first < delayed->first) delayed->first = first;
}

// Does: as count_delayed, if `each` is of a pool. For a root of a user's own type: its delayed jobs are in a pool's
// timers. Returns: true: continue.
static bool count_delayed_in_pool(csched_atfork *each, void *context) {
  const csched_target *pool = csched_pool_of_atfork_(each);
  if (pool != NULL) count_delayed(csched_pool_timers_seen_(pool), context);
  return true;
}

// Does: adds the number of the target's delayed jobs, and the time to the first deadline; in virtual time (`ticks`)
// that deadline.
static void add_delayed(csched_text *text, const csched_target *target) {
  csched_target *root = csched_target_root_((csched_target *)(uintptr_t)target); // removes `const`: only read
  delayed found = {.target = target, .first = CSCHED_FOREVER, .is_whole = true};
  csched_timers *timers = csched_loop_timers_seen_(root), *ticks = csched_virtual_timers_seen_(root);
  if (timers == NULL) timers = csched_pool_timers_seen_(root);     // each is NULL unless the root is of that kind
  if (root == target && (timers != NULL || ticks != NULL)) return; // a root's description contains these counts
  count_delayed(timers != NULL ? timers : ticks, &found);
  if (timers == NULL && ticks == NULL) csched_os_atfork_visit_(&marker, count_delayed_in_pool, &found);
  csched_os_atfork_end_(&marker);
  if (!found.is_whole) csched_text_add_(text, ", at least");
  if (ticks == NULL) {
    csched_text_delayed_(text, found.count, found.first, csched_now());
    return;
  }
  csched_text_delayed_(text, found.count, CSCHED_FOREVER, 0); // FOREVER: only the number, without a time
  if (found.first == CSCHED_FOREVER) return;
  csched_text_add_(text, ", the next not before tick ");
  csched_text_number_(text, found.first);
}

size_t csched_target_describe(const csched_target *target, char *text, size_t size) { // returns: the text's length
  csched_text line = csched_text_in_(text, size - 1);                                 // 1: for the final 0
  inside noted = {.target = target};
  lock_marker();
  csched_os_atfork_visit_(&marker, copy_if_inside, &noted); // its result only says whether `noted` is full
  csched_os_atfork_end_(&marker);
  describe_target(target, &line);
  if (!csched_target_is_orphaned_(target)) add_delayed(&line, target);
  csched_lock_unlock(&dump_lock);
  add_inside(&line, &noted); // DP2: looks up names of functions, so the fork list must be unlocked
  add_first_job(&line);
  *line.at = 0;
  return (size_t)(line.at - text);
}

typedef struct wanted_target {
  const csched_target *target;
  csched_text *text;
} wanted_target;

// Returns: whether `target` is one of the targets of a pool, which has one for each priority. `pool`: the pool's first
// target; NULL: no pool, false.
static bool is_of_pool(const csched_target *pool, const csched_target *target) {
  const csched_pool_class *first = (const csched_pool_class *)pool;
  for (int i = 0; pool != NULL && i < CSCHED_PRIORITIES; i++)
    if (&first[i].target == target) return true;
  return false;
}

// Does: describes the wanted target, if `each` is its entry. Returns: false: described, so the visit ends.
static bool describe_if_wanted(csched_atfork *each, void *context) {
  const wanted_target *wanted = context;
  const csched_target *target = wanted->target;
  bool is_wanted = csched_loop_of_atfork_(each) == target || csched_virtual_of_atfork_(each) == target ||
                   csched_serial_of_atfork_(each) == target || csched_limit_of_atfork_(each) == target ||
                   is_of_pool(csched_pool_of_atfork_(each), target);
  return !is_wanted || !describe_target(target, wanted->text);
}

void csched_dump_target_(csched_text *text, const csched_target *target) { // adds the target's line, if it exists
  wanted_target wanted = {target, text};
  if (target == NULL) return;
  lock_marker();
  bool is_found = csched_os_atfork_visit_(&marker, describe_if_wanted, &wanted);
  csched_os_atfork_end_(&marker);
  csched_lock_unlock(&dump_lock);
  if (!is_found) return;
  add_first_job(text); // DP2: after the unlock
  csched_text_add_(text, "\n");
}

int csched_recorder_write(int fd) { return csched_recorder_write_(fd); }
