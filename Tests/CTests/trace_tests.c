// Traces of each kind of target, and of objects with odd names.
#include "fork_testing.h"
#include "trace_testing.h"

#include "../../Sources/CScheduler/job/node.h"

#include <CScheduler/trace.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void nothing(void *unused) { (void)unused; }
static void rest(void *span) { nap(*(csched_time *)span); }

static void run_nothing(csched_job *job) { (void)job; }
static const csched_job_type nothing_type = {run_nothing, run_nothing, NULL};

static void run_node(csched_node *node) { free(node); }
static void drop_node(csched_node *node, csched_drop_reason reason) {
  (void)reason;
  free(node);
}
static const csched_node_type node_type = {.run = run_node, .drop = drop_node, .kind = CSCHED_NODE};

typedef struct kinds {
  csched_thread *thread;
  csched_pool *pool;
  csched_serial *on_thread, *on_pool;
  csched_limit *limit;
  csched_virtual *timeline;
  csched_target *targets[8];
  int count, rounds;
} kinds;

static void make_kinds(kinds *kinds) {
  kinds->thread = start_thread("traced");
  CHECK_EQUAL(csched_pool_create(&kinds->pool, &(csched_pool_options){.workers = 2, .name = "traced pool"}), 0);
  csched_target *loop = csched_thread_target(kinds->thread);
  csched_target *pool = csched_pool_target(kinds->pool, CSCHED_PRIORITY_DEFAULT);
  CHECK_EQUAL(csched_serial_create(&kinds->on_thread, loop), 0);
  CHECK_EQUAL(csched_serial_create(&kinds->on_pool, pool), 0);
  CHECK_EQUAL(csched_limit_create(&kinds->limit, pool, 2), 0);
  CHECK_EQUAL(csched_virtual_create(&kinds->timeline, 0, 0), 0);
  csched_target *all[] = {loop,
                          pool,
                          csched_serial_target(kinds->on_thread),
                          csched_serial_target(kinds->on_pool),
                          csched_limit_target(kinds->limit),
                          csched_limit_barrier_target(kinds->limit),
                          csched_virtual_target(kinds->timeline)};
  kinds->count = sizeof all / sizeof *all;
  memcpy(kinds->targets, all, sizeof all);
}

static void end_kinds(kinds *kinds) {
  csched_virtual_destroy(kinds->timeline);
  csched_limit_destroy(kinds->limit);
  csched_serial_destroy(kinds->on_pool);
  csched_serial_destroy(kinds->on_thread);
  stop_and_join(kinds->thread, CSCHED_STOP_RUN);
  csched_pool_destroy(kinds->pool);
}

// Every way of submitting, to every kind.
static void submit_all(int index, void *context) {
  kinds *kinds = context;
  for (int i = 0; i < kinds->rounds; i++) {
    csched_target *target = kinds->targets[(i + index) % kinds->count];
    csched_target_async(target, nothing, NULL);
    csched_task_cancel(csched_target_async(target, nothing, NULL));
    csched_target_async_after(target, 100 * US, nothing, NULL);
    csched_task_cancel(csched_target_async_after(target, 3600 * 1000 * MS, nothing, NULL));
    csched_node *node = malloc(sizeof *node);
    node->type = &node_type;
    csched_target_submit_node(target, node);
    csched_timing timing = {.first = csched_now(), .period = MS};
    csched_task_cancel(csched_target_async_every(target, &timing, nothing, NULL, NULL));
  }
}

typedef struct repeating {
  csched_task task;
  atomic_int calls, is_known;
} repeating;

static void call_again(void *context) {
  repeating *repeating = context;
  WAIT_WHILE(!atomic_load(&repeating->is_known));
  if (atomic_fetch_add(&repeating->calls, 1) == 4) csched_task_cancel(repeating->task);
}

static void trace_kinds(int rounds) {
  trace_path path = make_path();
  kinds kinds = {.rounds = rounds};
  make_kinds(&kinds);
  csched_target_async_after(kinds.targets[0], 20 * MS, nothing, NULL); // before the trace: it is not in it
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  crew_run(3, submit_all, &kinds);
  repeating repeating = {.calls = 0};
  csched_timing timing = {.first = csched_now(), .period = MS};
  repeating.task = csched_target_async_every(kinds.targets[0], &timing, call_again, NULL, &repeating);
  atomic_store(&repeating.is_known, 1);
  CHECK_SOON(atomic_load(&repeating.calls) == 5);
  csched_virtual_run(kinds.timeline);
  nap(25 * MS);
  end_kinds(&kinds); // which runs all
  CHECK_EQUAL(csched_trace_end(), 0);
  char *text = read_trace(path.file);
  traced *traced = look_at_trace(text);
  int lost = lost_in(text);
  CHECK_TRACE(traced, lost == 0);
  CHECK(lost >= 0 && lost < 3 * rounds && traced->runs + lost >= 3 * 3 * rounds);
  static const char *const names[] = {"loop 0x", "pool 0x", "queue 0x", "limit 0x", "barriers 0x", "virtual time 0x"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char waiting[64];
    snprintf(waiting, sizeof waiting, "\"name\":\"waiting on %s", names[i]);
    CHECK(strstr(text, waiting) != NULL); // its counter
    snprintf(waiting, sizeof waiting, "\"thread_name\",\"args\":{\"name\":\"%s", names[i]);
    CHECK(strstr(text, waiting) != NULL); // its track
  }
  CHECK(is_json(text));
  free(traced), free(text);
  remove_path(&path);
}

TEST_UNLESS(DRD | HELGRIND, "one thread runs at a time: a target may go before the writer has come to it",
            "each run in a trace has one submission, on each kind of target, in each way of submitting") {
  trace_kinds(times_least(100, 20));
}

// MARK: instants

typedef struct stealing {
  csched_pool *pool;
  atomic_int has_run, is_over;
} stealing;

static void note_run(csched_job *job) { atomic_store(&((stealing *)job->context)->has_run, 1); }
static const csched_job_type noting_type = {note_run, note_run, NULL};

// Keeps its worker busy until another worker has taken the fork.
static void fork_one(void *context) {
  stealing *stealing = context;
  csched_job job;
  csched_fork fork;
  csched_job_init(&job, &noting_type, stealing);
  csched_pool_fork(&fork, &job);
  WAIT_WHILE(!atomic_load(&stealing->has_run));
  csched_pool_wait(&fork);
  atomic_store(&stealing->is_over, 1);
}

static csched_lock contended;

// The first thread holds the lock until the second one waits for it.
static void contend(int index, void *context) {
  atomic_int *is_held = context;
  if (index == 0) {
    csched_lock_lock(&contended);
    atomic_store(is_held, 1);
    uintptr_t *waits = &csched_lock_waiter_flags_[csched_lock_hash_(&contended)].word;
    WAIT_WHILE(__atomic_load_n(waits, __ATOMIC_ACQUIRE) == 0);
    nap(10 * MS); // it sleeps
  } else {
    WAIT_WHILE(!atomic_load(is_held));
    csched_lock_lock(&contended);
  }
  csched_lock_unlock(&contended);
}

static void trace_instants(void) {
  trace_path path = make_path();
  csched_time span = 10 * MS;
  stealing stealing = {0};
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_target_async(csched_loop_target(loop), nothing, NULL);
  csched_task_cancel(csched_target_async(csched_loop_target(loop), nothing, NULL));
  csched_loop_close(loop, CSCHED_STOP_DROP);
  csched_loop_run_ready(loop, SIZE_MAX);
  csched_target_async(csched_loop_target(loop), nothing, NULL); // refused
  csched_loop_destroy(loop);
  csched_thread *thread = start_thread("woken");
  csched_target_async(csched_thread_target(thread), rest, &span);
  wait_until_run(thread);
  nap(20 * MS);
  csched_target_async(csched_thread_target(thread), nothing, NULL);
  wait_until_run(thread);
  CHECK_EQUAL(csched_pool_create(&stealing.pool, &(csched_pool_options){.workers = 2}), 0);
  csched_target_async(csched_pool_target(stealing.pool, CSCHED_PRIORITY_DEFAULT), fork_one, &stealing);
  WAIT_WHILE(!atomic_load(&stealing.is_over));
  atomic_int is_held = 0;
  crew_run(2, contend, &is_held);
  csched_pool_destroy(stealing.pool);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_trace_end(), 0);
  char *text = read_trace(path.file), lock[64];
  CHECK(output_says(text, "\"name\":\"cancel\"", "\"reason\":\"cancelled\""));
  CHECK(output_says(text, "\"name\":\"drop\"", "\"reason\":\"stopped\""));
  CHECK(output_says(text, "\"name\":\"drop\"", "\"reason\":\"refused\""));
  CHECK(output_says(text, "\"name\":\"wake\"", "\"target\":\"loop 0x"));
  CHECK(strstr(text, "\"name\":\"steal\"") != NULL);
  snprintf(lock, sizeof lock, "\"address\":%llu,\"nanoseconds\":", (unsigned long long)(uintptr_t)&contended);
  CHECK(output_says(text, "\"name\":\"lock wait\"", lock));
  CHECK(is_json(text));
  free(text);
  remove_path(&path);
}

TEST("a trace has instants of cancels, drops, wakes, steals and waits for locks") { trace_instants(); }

// MARK: names

static void trace_names(void) {
  static const char *const odd[] = {"\"quoted\"",
                                    "a\\b",
                                    "tab\there\nand a line",
                                    "\x01\x1f\x7f",
                                    "\xff\xfe\xc0\xaf",
                                    "\xe2\x82",
                                    "\xed\xa0\x80",
                                    "\xf4\x90\x80\x80",
                                    "</script>",
                                    "",
                                    "caf\xc3\xa9 \xf0\x9f\x90\x88"};
  enum { ODD = sizeof odd / sizeof *odd };
  trace_path path = make_path();
  char *large = malloc(4097);
  memset(large, '\\', 4096), large[4096] = 0;
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  for (int i = 0; i <= ODD; i++) {
    csched_serial *queue = NULL;
    const char *name = i < ODD ? odd[i] : large;
    csched_thread *thread = start_thread(name);
    CHECK_EQUAL(csched_serial_create(&queue, csched_thread_target(thread)), 0);
    csched_serial_set_name(queue, name);
    csched_target_async(csched_serial_target(queue), nothing, NULL);
    CHECK_EQUAL(csched_serial_sync(queue, nothing, NULL), 0);
    nap(5 * MS); // the thread still exists when its name is read
    csched_serial_destroy(queue);
    stop_and_join(thread, CSCHED_STOP_RUN);
  }
  CHECK_EQUAL(csched_trace_end(), 0);
  char *text = read_trace(path.file);
  CHECK(is_json(text));
  CHECK(strstr(text, "a\\\\b") != NULL && strstr(text, "caf\xc3\xa9 \xf0\x9f\x90\x88") != NULL);
  CHECK(is_json("[{\"a\":1.5,\"b\":\"\\\"\\u001f\"},[]]") && !is_json("[\"\xff\"]") && !is_json("[\"\t\"]") &&
        !is_json("[\"\\x\"]") && !is_json("[1"));
  free(large), free(text);
  remove_path(&path);
}

TEST("names in a trace are escaped") { trace_names(); }

// MARK: memory

// The first half of the jobs fills the whole ring. From then on only the file grows.
static void trace_many(void *jobs) {
  trace_path path = make_path();
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  long before = 0;
  for (int i = 0, count = *(int *)jobs; i < count; i++) {
    csched_job job;
    csched_job_init(&job, &nothing_type, NULL);
    csched_target_submit(csched_loop_target(loop), &job);
    csched_loop_run_ready(loop, SIZE_MAX);
    if (i == count / 2) before = (long)ctest_resident_bytes();
  }
  long grown = (long)ctest_resident_bytes() - before;
  CHECK(before > 0 && grown < 1 << 20);
  CHECK_EQUAL(csched_trace_end(), 0);
  csched_loop_destroy(loop);
  remove_path(&path);
}

static void trace_memory(int jobs) { CHECK_CHILD(trace_many, &jobs); }

TEST_UNLESS(SANITIZERS | VALGRIND | QEMU, "tools keep memory of their own for each access",
            "a trace's memory does not grow") {
  trace_memory(times(40000));
}

// MARK: a program with more rights than its user

enum { RIGHT = 1 /* CAP_DAC_OVERRIDE: any file may be written */, REVISION = 0x02000000, EFFECTIVE = 1 };

// Does: copies this program to `path`, with the right to write to any file.
static bool copy_with_right(const char *path) {
  // struct vfs_cap_data of linux/capability.h: the revision, then what is permitted and what is inherited, twice 32
  // bits.
  const uint32_t capability[5] = {REVISION | EFFECTIVE, 1u << RIGHT, 0, 0, 0};
  char part[1 << 16];
  ssize_t count;
  int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  while ((count = read(from, part, sizeof part)) > 0)
    if (write(to, part, (size_t)count) != count) break;
  bool is_copied = count == 0 && fchmod(to, 0755) == 0 &&
                   syscall(SYS_fsetxattr, to, "security.capability", capability, sizeof capability, 0) == 0;
  close(from);
  close(to);
  return is_copied;
}

TEST_UNLESS(SANITIZERS | VALGRIND | QEMU, "their runtimes do not start with rights of a file",
            "the environment of a program with more rights than its user is not obeyed") {
  trace_path path = make_path(), program = make_path(); // the user may not write to the first folder
  if (getuid() == 0 && chmod(program.folder, 0755) == 0 && copy_with_right(program.file)) {
    pid_t child = fork();
    if (child == 0) {
      setenv("SCHEDULER_TRACE", path.file, 1);
      if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
      execl(program.file, program.file, "--only", "time does not run backwards", NULL);
      _exit(2);
    }
    int status = -1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(access(path.file, F_OK), -1);
  }
  remove_path(&program);
  remove_path(&path);
}
