// Which signals the library's threads block, and where signals arrive.
#include "fork_testing.h"
#include "pool_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

// Most tests here have children of their own, whose main thread is the one that forked.
enum { NO_CHILD = THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND | QEMU };
#define NO_CHILD_WHY                                                                                                   \
  "tools do not follow a process with threads into its child, and under qemu that child cannot start a thread"

static sigset_t set_of(int signal) { // 0: the empty set
  sigset_t set;
  sigemptyset(&set);
  if (signal != 0) sigaddset(&set, signal);
  return set;
}

static sigset_t all_but(const int *open, size_t count) {
  sigset_t set;
  sigfillset(&set);
  for (size_t i = 0; i < count; i++) sigdelset(&set, open[i]);
  return set;
}

static sigset_t dispatchs(void) { // what Dispatch blocks in its threads
  static const int open[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGSYS, SIGPROF};
  return all_but(open, sizeof open / sizeof open[0]);
}

static bool is_blocked(const sigset_t *mask, int signal) { return sigismember(mask, signal) == 1; }

// MARK: where threads are started

enum {
  THREAD,
  WORKER,
  SECOND_WORKER,
  FROM_JOB,
  STARTED
}; // threads that one thread starts; FROM_JOB: by a job of WORKER
typedef struct starts {
  const sigset_t *own;      // the mask of the thread that starts them; NULL: as it is
  sigset_t begins[STARTED]; // the masks that they begin with
} starts;

static void note_mask(probe *probe) { pthread_sigmask(SIG_SETMASK, NULL, probe->context); }

static void note_mask_of_new_thread(probe *probe) {
  csched_thread *thread = start_thread("masked");
  struct probe inner;
  probe_init(&inner, note_mask, probe->context);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&inner)), 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

static void start_each_kind(int index, void *context) {
  (void)index;
  starts *starts = context;
  probe probes[STARTED];
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, starts->own, &before);
  for (int i = 0; i < STARTED; i++) probe_init(&probes[i], note_mask, &starts->begins[i]);
  probes[FROM_JOB].body = note_mask_of_new_thread;
  note_mask_of_new_thread(&probes[THREAD]);
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "masks", .workers = 2});
  post(pool, CSCHED_PRIORITY_DEFAULT, &probes[FROM_JOB]);
  CHECK_SOON(atomic_load(&probes[FROM_JOB].releases) == 1);
  pool_gate gate;
  post(pool, CSCHED_PRIORITY_DEFAULT, &probes[WORKER]);
  CHECK_SOON(atomic_load(&probes[WORKER].releases) == 1);
  pool_gate_close(&gate, pool, 1); // one worker is busy, so another one has the next job
  post(pool, CSCHED_PRIORITY_DEFAULT, &probes[SECOND_WORKER]);
  CHECK_SOON(atomic_load(&probes[SECOND_WORKER].releases) == 1);
  pool_gate_open(&gate);
  end_pool(pool, CSCHED_STOP_RUN);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Checks that threads which a thread with the mask `own` starts begin with `expected`, and that this thread keeps its
// own mask.
static void check_starts(const sigset_t *own, const sigset_t *expected, bool on_main) {
  starts starts = {.own = own};
  if (on_main) start_each_kind(0, &starts);
  else crew_run(1, start_each_kind, &starts);
  for (int i = 0; i < STARTED; i++)
    for (int signal = 1; signal <= 31; signal++)
      CHECK_EQUAL(is_blocked(&starts.begins[i], signal) ? signal : 0, is_blocked(expected, signal) ? signal : 0);
}

// `on_main`: the main thread has started a thread before.
static void start_with_masks(void *on_main) {
  sigset_t mains = set_of(SIGUSR1), terms = set_of(SIGTERM), of_dispatch = dispatchs(), all, seen;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &mains, NULL);
  if (on_main != NULL) check_starts(NULL, &mains, true);
  check_starts(&of_dispatch, &mains, false);
  check_starts(&terms, &mains, false);
  check_starts(&all, &mains, false);
  check_starts(&mains, &mains, false);
  check_starts(NULL, &mains, true);
  pthread_sigmask(SIG_SETMASK, NULL, &seen);
  CHECK(is_blocked(&seen, SIGUSR1) && !is_blocked(&seen, SIGTERM)); // a start leaves the starter's mask as it is
  sigset_t none = set_of(0);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  check_starts(NULL, &none, true); // the main thread starts one with another mask, which counts from now on
  check_starts(&of_dispatch, &none, false);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY,
            "a thread with user code begins with the main thread's mask, wherever it is started") {
  CHECK_CHILD(start_with_masks, NULL);
  CHECK_CHILD(start_with_masks, "on main");
}

static void check_first_start(int index, void *unused) {
  (void)index, (void)unused;
  sigset_t none = set_of(0);
  check_starts(NULL, &none, false);
}

static void *do_nothing(void *unused) { return unused; }

static void start_while_main_creates(void *unused) {
  (void)unused;
  sigset_t none = set_of(0);
  crew crew;
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  crew_start(&crew, 1, check_first_start, NULL);
  for (int i = 0; i < 200; i++)
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) pthread_join(thread, NULL);
  crew_join(&crew);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a mask that the C library gives the main thread for a moment is not passed on") {
  for (int i = 0; i < 40; i++) CHECK_CHILD(start_while_main_creates, NULL);
}

static void start_while_main_blocks_all(void *unused) {
  (void)unused;
  sigset_t all, blocked;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_sigmask(SIG_SETMASK, NULL, &blocked); // without SIGKILL and SIGSTOP
  check_starts(NULL, &blocked, false);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a mask of all signals that the main thread keeps is passed on") {
  CHECK_CHILD(start_while_main_blocks_all, NULL);
}

static void fork_with_dispatchs_mask(void *unused) {
  (void)unused;
  sigset_t of_dispatch = dispatchs(), none = set_of(0);
  pthread_sigmask(SIG_SETMASK, &of_dispatch, NULL);
  check_starts(NULL, &none, true);
  check_starts(&of_dispatch, &none, false);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a main thread with Dispatch's mask does not pass it on") {
  CHECK_CHILD(fork_with_dispatchs_mask, NULL);
}

// MARK: the idiom of sigwait

static bool waits_for_signal(void) { // the main thread, in sigwait
  char path[64], line[64] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)getpid());
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  char *read = fgets(line, sizeof line, file);
  fclose(file);
  return read != NULL && line[0] != 'r' && strtol(line, NULL, 10) == SYS_rt_sigtimedwait;
}

static csched_thread *started_beside;
static void start_beside_sigwait(int index, void *unused) {
  (void)index, (void)unused;
  sigset_t own = dispatchs();
  pthread_sigmask(SIG_SETMASK, &own, NULL);
  WAIT_WHILE(!waits_for_signal());
  sigset_t mask;
  probe probe;
  probe_init(&probe, note_mask, &mask);
  started_beside = start_thread("beside");
  CHECK_EQUAL(csched_target_submit(csched_thread_target(started_beside), job_of(&probe)), 0);
  CHECK_SOON(atomic_load(&probe.releases) == 1);
  CHECK(is_blocked(&mask, SIGTERM) && is_blocked(&mask, SIGUSR2) && !is_blocked(&mask, SIGUSR1));
  kill(getpid(), SIGUSR2); // ends the main thread's wait
}

static void wait_for_signals(void *unused) {
  (void)unused;
  sigset_t blocked = set_of(SIGTERM), before;
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  crew crew;
  int signal = 0;
  crew_start(&crew, 1, start_beside_sigwait, NULL);
  CHECK_EQUAL(sigwait(&blocked, &signal), 0);
  CHECK_EQUAL(signal, SIGUSR2);
  crew_join(&crew);
  kill(getpid(), SIGTERM); // while no thread waits for it: it would end the process if a thread did not block it
  CHECK_EQUAL(sigwait(&blocked, &signal), 0);
  CHECK_EQUAL(signal, SIGTERM);
  stop_and_join(started_beside, CSCHED_STOP_RUN);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY,
            "a signal that main blocks and waits for does not arrive at a thread of the library") {
  if (access("/proc/self/syscall", R_OK) != 0) return; // an older kernel does not show in which call a thread waits
  CHECK_CHILD(wait_for_signals, NULL);
}

// MARK: child processes

extern char **environ;
static void spawn_child(probe *probe) {
  char *words[] = {"/bin/sleep", "1000", NULL};
  if (posix_spawn(probe->context, words[0], NULL, NULL, words, environ) != 0) abort();
}

static void spawn_from_threads(int index, void *unused) {
  (void)index, (void)unused;
  sigset_t own = dispatchs();
  pthread_sigmask(SIG_SETMASK, &own, NULL);
  csched_thread *thread = start_thread("spawns");
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "spawns", .workers = 1});
  pid_t children[2];
  probe probes[2];
  for (int i = 0; i < 2; i++) probe_init(&probes[i], spawn_child, &children[i]);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probes[0])), 0);
  post(pool, CSCHED_PRIORITY_DEFAULT, &probes[1]);
  for (int i = 0; i < 2; i++) {
    int status;
    CHECK_SOON(atomic_load(&probes[i].releases) == 1);
    kill(children[i], SIGTERM);
    CHECK_EQUAL(waitpid(children[i], &status, 0), children[i]);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  }
  end_pool(pool, CSCHED_STOP_RUN);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

static void spawn_children(void *unused) {
  (void)unused;
  sigset_t none = set_of(0);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  crew_run(1, spawn_from_threads, NULL);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY,
            "a child process of the library's threads ends at SIGTERM, though Dispatch's ignore it") {
  CHECK_CHILD(spawn_children, NULL);
}

// MARK: signals that all threads block

static atomic_int handled;
static void count_signals(csched_signal_source *source, uint32_t count) {
  (void)source;
  atomic_fetch_add(&handled, (int)count);
}

static void attach_loop(int index, void *context) {
  (void)index;
  sigset_t mask;
  csched_loop_attach(context);
  kill(getpid(), SIGUSR1);
  for (int before = atomic_load(&handled); atomic_load(&handled) == before;)
    csched_loop_run_once(context, csched_now() + MS);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  CHECK(!is_blocked(&mask, SIGUSR1));
  csched_loop_detach(context);
}

static void handle_blocked_signals(void *unused) {
  (void)unused;
  sigset_t blocked = set_of(SIGUSR1), mask;
  pthread_sigmask(SIG_SETMASK, &blocked, NULL);
  csched_loop *loop;
  csched_signal_source source, other;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_signal_source_init(&source, SIGUSR1, count_signals, NULL);
  CHECK_EQUAL(csched_loop_add_signal(loop, &source), 0);
  kill(getpid(), SIGUSR1);
  for (csched_time end = csched_now() + 60000 * MS; atomic_load(&handled) < 1 && csched_now() < end;)
    csched_loop_run_once(loop, csched_now() + 10 * MS);
  CHECK_EQUAL(atomic_load(&handled), 1);
  csched_loop_detach(loop);
  crew_run(1, attach_loop, loop); // a loop that moves to another thread, which blocks the signal, too
  csched_loop_attach(loop);
  csched_loop_unregister_signal_(loop, &source); // as another thread does, before the loop's thread removes the source
  csched_signal_source_init(&other, SIGUSR1, count_signals, NULL);
  CHECK_EQUAL(csched_loop_add_signal(loop, &other), 0);
  csched_loop_remove_signal(loop, &source);
  kill(getpid(), SIGUSR1);
  for (csched_time end = csched_now() + 60000 * MS; atomic_load(&handled) < 3 && csched_now() < end;)
    csched_loop_run_once(loop, csched_now() + 10 * MS);
  CHECK_EQUAL(atomic_load(&handled), 3);
  CHECK_EQUAL(csched_loop_remove_signal(loop, &other), 0);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  CHECK(is_blocked(&mask, SIGUSR1)); // as before the source, so a later signal does not end the process
  kill(getpid(), SIGUSR1);
  csched_loop_destroy(loop);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a signal with a source arrives although all other threads block it") { // SG5
  CHECK_CHILD(handle_blocked_signals, NULL);
}

static void dump_blocked_signal(void *unused) {
  (void)unused;
  int ends[2];
  char text[1 << 16];
  sigset_t blocked = set_of(SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &blocked, NULL);
  if (pipe(ends) != 0) abort();
  CHECK_EQUAL(csched_dump_on_signal(SIGUSR1, ends[1]), 0);
  kill(getpid(), SIGUSR1);
  size_t length = 0;
  while (length < sizeof text - 1) { // ends with the whole dump
    ssize_t read_now = read(ends[0], text + length, sizeof text - 1 - length);
    if (read_now <= 0) break;
    text[length += (size_t)read_now] = 0;
    if (strstr(text, "Scheduler: end of dump\n") != NULL) break;
  }
  CHECK(strstr(text, "Scheduler: threads of process") != NULL && strstr(text, "Scheduler: end of dump\n") != NULL);
  CHECK_EQUAL(csched_dump_on_signal(0, -1), 0);
  kill(getpid(), SIGUSR1); // stays pending, and does not end the process
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a signal that all threads block still writes a dump") {
  CHECK_CHILD(dump_blocked_signal, NULL);
}

// MARK: small stacks

// Weak: musl declares them, and has none: there nothing is tested.
extern __typeof__(getcontext) getcontext __attribute__((weak));
extern __typeof__(makecontext) makecontext __attribute__((weak));
extern __typeof__(swapcontext) swapcontext __attribute__((weak));

static ucontext_t outside, inside;
static int sent;
static long process, own_thread;
static void send_signal(void) { syscall(SYS_tgkill, process, own_thread, (long)sent); }

// The calling thread gets `signal` on a stack of 2 KB, with an alternate stack.
static void get_signal_on_small_stack(int signal) {
  enum { SIZE = 2048 };
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, page, PROT_NONE); // the page below the stack
  stack_t alternate = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16}, before;
  sigset_t set = set_of(signal);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  sigaltstack(&alternate, &before);
  getcontext(&inside);
  inside.uc_stack.ss_sp = memory + page;
  inside.uc_stack.ss_size = SIZE;
  inside.uc_link = &outside;
  sent = signal;
  process = syscall(SYS_getpid); // also binds `syscall`, for which the small stack has no room
  own_thread = syscall(SYS_gettid);
  makecontext(&inside, send_signal, 0);
  swapcontext(&outside, &inside);
  sigaltstack(&before, NULL);
  free(alternate.ss_sp);
  munmap(memory, 2 * page);
}

static void handle_on_small_stack(void *unused) {
  (void)unused;
  csched_loop *loop;
  csched_signal_source source;
  int before = atomic_load(&handled), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_signal_source_init(&source, SIGUSR1, count_signals, NULL);
  CHECK_EQUAL(csched_loop_add_signal(loop, &source), 0);
  get_signal_on_small_stack(SIGUSR1);
  for (csched_time end = csched_now() + 60000 * MS; atomic_load(&handled) == before && csched_now() < end;)
    csched_loop_run_once(loop, csched_now() + 10 * MS);
  CHECK_EQUAL(atomic_load(&handled), before + 1);
  CHECK_EQUAL(csched_loop_remove_signal(loop, &source), 0);
  CHECK_EQUAL(csched_dump_on_signal(SIGUSR1, null), 0);
  get_signal_on_small_stack(SIGUSR1);
  CHECK_EQUAL(csched_dump_on_signal(0, -1), 0);
  if (csched_watch_stacks(SIGUSR2) == 0) get_signal_on_small_stack(SIGUSR2);
  csched_watch_stacks(0);
  csched_loop_destroy(loop);
  close(null);
}

TEST_UNLESS(NO_CHILD | ADDRESS_SANITIZER, "tools support no stack but the thread's own",
            "the library's signal handlers run on an alternate stack, if there is one") {
  if (swapcontext != NULL) CHECK_CHILD(handle_on_small_stack, NULL);
}
