#if defined(__linux__) || defined(__APPLE__) // Platform layer, POSIX part: threads, memory, fork list, messages.
#define _GNU_SOURCE
#include "platform.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

void (*csched_os_on_call_)(void); // called before futex calls, while an observer counts them

// MARK: threads

static uint32_t live;                       // threads started by csched_os_thread_start_ that have not ended
static CSCHED_THREAD_LOCAL bool is_counted; // `live` counts this thread
size_t csched_os_thread_count_(void) { return csched_load_relaxed(&live); } // a count of live threads

void csched_os_thread_leave_count_(void) {
  if (is_counted) csched_fetch_add_relaxed(&live, UINT32_MAX); // a count of live threads: minus 1
  is_counted = false;                                          // a second call does nothing
}

// The cleanup of posix_thread_main: runs at the thread's end, also after pthread_exit or a cancellation.
static void leave_count(void *unused) {
  (void)unused;
  csched_os_thread_leave_count_();
}

// MARK: signal masks
//
// A thread that may run user code begins with the main thread's mask, wherever it is started. The starter's own mask
// would not do: Dispatch blocks nearly all signals in its threads, where Swift's tasks run, and a child process that
// such a thread spawns would never get SIGTERM. An empty mask would not do either: a program may block signals in all
// threads, and take them by sigwait or a signalfd.

enum { SIGKILL_BIT = 1 << (SIGKILL - 1) }; // in `mask_of_main`: the mask is known. No thread can block SIGKILL
static uint64_t mask_of_main; // when the main thread last started a thread, else at the first start; 0: no start yet

static uint64_t bits_of(const sigset_t *set) { // bit N - 1 is signal N, as in a sigset_t of the supported systems
  uint64_t bits = 0;
  memcpy(&bits, set, sizeof *set < sizeof bits ? sizeof *set : sizeof bits);
  return bits;
}

static uint64_t set_mask(uint64_t bits) { // of the calling thread; returns: its previous mask
  sigset_t set, before;
  sigemptyset(&set);
  memcpy(&set, &bits, sizeof set < sizeof bits ? sizeof set : sizeof bits);
  pthread_sigmask(SIG_SETMASK, &set, &before);
  return bits_of(&before);
}

static uint64_t own_mask(void) {
  sigset_t set;
  pthread_sigmask(SIG_SETMASK, NULL, &set);
  return bits_of(&set);
}

// Without those of the C library, which sigfillset leaves out: musl's setuid waits until each thread has handled one.
uint64_t csched_os_all_signals_(void) {
  sigset_t all;
  sigfillset(&all);
  return bits_of(&all);
}

static uint64_t all_signals_but(const int *but, size_t count) {
  uint64_t bits = csched_os_all_signals_();
  for (size_t i = 0; i < count; i++) bits &= ~((uint64_t)1 << (but[i] - 1));
  return bits;
}

static uint64_t all_signals(void) { // except those of faults, which are not blocked
  static const int of_faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
  return all_signals_but(of_faults, sizeof of_faults / sizeof of_faults[0]);
}

// Returns: whether Dispatch has set the mask: it says nothing about the program's. Dispatch blocks all but these, and
// real-time signals in part.
static bool is_of_dispatch(uint64_t mask) {
  static const int open[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGSYS, SIGPROF, SIGKILL, SIGSTOP};
  uint64_t blocked = all_signals_but(open, sizeof open / sizeof open[0]) & INT32_MAX; // INT32_MAX: signals 1 to 31
  return (mask & blocked) == blocked && (mask & (uint64_t)1 << (SIGPROF - 1)) == 0;
}

// Returns: the mask for a new thread that may run user code. `own`: the mask of the calling thread.
static uint64_t mask_to_begin_with(uint64_t own) {
  uint64_t known = csched_load_relaxed(&mask_of_main), mask = own; // relaxed: no other data depends on it
  bool is_main = csched_os_is_main_thread_();
  if (is_main && !is_of_dispatch(own)) {
    csched_store_relaxed(&mask_of_main, own | SIGKILL_BIT); // the newest one counts
    return own;
  }
  if (known != 0) return known & ~(uint64_t)SIGKILL_BIT;
  if (!is_main && !csched_os_main_mask_(&mask) && !is_of_dispatch(own)) mask = own;
  if (is_of_dispatch(mask)) mask = 0; // Dispatch has the main thread, or soon: there it waits with an empty mask
  if (csched_cas_relaxed(&mask_of_main, &known, mask | SIGKILL_BIT)) return mask; // relaxed, as above
  return known & ~(uint64_t)SIGKILL_BIT; // the main thread has just stored its own; then it blocks all for a moment
}

void csched_os_begin_with_main_mask_(void) { set_mask(mask_to_begin_with(own_mask())); }

bool csched_os_signal_block_(int signal, bool blocks) {
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, signal);
  return pthread_sigmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &one, &before) == 0 && sigismember(&before, signal) == 1;
}

// MARK: start

// The start function of a thread. It copies its arguments first: the starter may discard the csched_os_thread once
// `body` is called.
static void *posix_thread_main(void *argument) {
  const csched_os_thread *self = argument;
  void (*body)(void *) = self->body;
  void *context = self->context;
  is_counted = true;
  set_mask(self->signals);                                                 // all are blocked until here
  if (self->is_raised) csched_os_thread_set_nice_(self->nice, self->nice); // inherited the starter's raised value
  csched_os_thread_drop_slack_();                                          // else the system may end timed waits late
  csched_os_call_with_cleanup_(body, leave_count, context);
  return NULL;
}

// Does: sets the stack size: at least csched_os_thread_least_stack_, rounded up to pages; `size` 0: the default.
// Returns: 0 or an errno value.
static int set_stack_size(pthread_attr_t *attributes, size_t size) {
  enum { AMPLE = 1 << 20 }; // bytes; assumed to exceed every least size, which is costly to compute
  if (size == 0 && pthread_attr_getstacksize(attributes, &size) == 0 && size >= AMPLE) return 0;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), least = size < AMPLE ? csched_os_thread_least_stack_() : 0;
  if (size < least) size = least;
  if (size > SIZE_MAX - page) return ENOMEM; // rounding up would wrap
  return pthread_attr_setstacksize(attributes, (size + page - 1) / page * page);
}

// Does: as csched_os_thread_start_. `is_internal`: the thread never runs user code, so it blocks signals: no handler of
// the program runs there.
static int start(csched_os_thread *thread, size_t stack_size, void (*body)(void *), void *context, bool is_internal) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  thread->body = body;
  thread->context = context;
  thread->is_raised = csched_os_thread_is_raised_(&thread->nice);
  error = set_stack_size(&attributes, stack_size);
  pthread_t id;
  csched_fetch_add_relaxed(&live, 1u);              // a count of live threads: plus 1, before the thread can end
  thread->signals = mask_to_begin_with(own_mask()); // before the next line, whose mask another starter might read
  if (is_internal) thread->signals = all_signals();
  uint64_t before = set_mask(all_signals()); // inherited: no handler runs on the thread until it has its own mask
  if (error == 0) error = pthread_create(&id, &attributes, posix_thread_main, thread);
  set_mask(before);
  if (error == EINVAL) error = ENOMEM; // EINVAL: the system cannot map such a stack
  if (error == 0) thread->handle = (uintptr_t)id;
  else csched_fetch_add_relaxed(&live, UINT32_MAX); // a count of live threads: minus 1, because none was started
  pthread_attr_destroy(&attributes);
  return error;
}

int csched_os_thread_start_(csched_os_thread *thread, size_t stack_size, void (*body)(void *), void *context) {
  return start(thread, stack_size, body, context, false);
}

int csched_os_thread_start_internal_(csched_os_thread *thread, void (*body)(void *), void *context) {
  return start(thread, 0, body, context, true);
}

void csched_os_thread_join_(csched_os_thread thread) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); // no wait of the library is a cancellation point
  pthread_join((pthread_t)thread.handle, NULL);
  pthread_setcancelstate(before, &before);
}
void csched_os_thread_detach_(csched_os_thread thread) { pthread_detach((pthread_t)thread.handle); }

void csched_os_call_with_cleanup_(void (*body)(void *), void (*finally)(void *), void *context) {
  pthread_cleanup_push(finally, context);
  body(context);
  pthread_cleanup_pop(1); // 1: calls `finally`
}

// close() is a cancellation point, so cancellation is disabled around it. Rejected: a raw system call. ThreadSanitizer
// would not see it, and would mistake the next descriptor with this number for the closed one.
void csched_os_close_(int fd) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  close(fd);
  pthread_setcancelstate(before, &before);
}

// MARK: thread-specific data

static pthread_mutex_t key_lock = PTHREAD_MUTEX_INITIALIZER; // guards the creation of keys; locked during a fork

// Does: sets this thread's value of `tsd`, whose key the first call creates. The thread's exit calls `destructor`.
// Returns: 0 or an errno value.
int csched_tsd_set_(csched_tsd *tsd, void *value, void (*destructor)(void *)) {
  if (csched_load_acquire(&tsd->state) != 2) { // 2: the key exists; 0: no key yet
    pthread_mutex_lock(&key_lock);
    int error = 0;
    if (csched_load_relaxed(&tsd->state) != 2) { // ordered by the lock
      pthread_key_t key;
      error = pthread_key_create(&key, destructor);
      tsd->key = (uint32_t)key;
      if (error == 0) csched_store_release(&tsd->state, 2u); // publishes `key`; pairs with the acquire above
    }
    pthread_mutex_unlock(&key_lock);
    if (error != 0) return error;
  }
  return pthread_setspecific(tsd->key, value);
}

// MARK: memory

void *csched_os_memory_allocate_(size_t size) {
  int saved = errno;
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  return memory != MAP_FAILED ? memory : NULL;
}
void csched_os_memory_free_(void *memory, size_t size) { munmap(memory, size); }

void *csched_os_pages_take_(size_t size) { // aligned: maps twice the size, and unmaps the rest at both ends
  char *memory = csched_os_memory_allocate_(2 * size);
  if (memory == NULL) return NULL;
  int saved = errno;
  size_t before = -(uintptr_t)memory & (size - 1); // bytes up to the next multiple of `size`
  if (before > 0) munmap(memory, before);
  munmap(memory + before + size, size - before);
  errno = saved;
  csched_os_leaks_register_(memory + before, size); // leak checkers search it for pointers
  return memory + before;
}
size_t csched_os_page_size_(void) { return (size_t)sysconf(_SC_PAGESIZE); }

// MARK: atfork

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; // guards the fork list; locked during a whole fork
static csched_atfork *all;                                    // the fork list, newest entry first
// True while this thread forks, and so owns `list_lock`. A handler may add an entry (by its first csched_lock): it must
// not lock `list_lock` again.
static CSCHED_THREAD_LOCAL bool is_forking;

// `back` is changed under the lock, and read without it by csched_os_atfork_.
static void set_back(csched_atfork *atfork, csched_atfork **back) {
  csched_store_relaxed(&atfork->back, back);
} // Speed only

// Does: adds `atfork` to the fork list, so that each fork calls `handler`. An entry that is in the list already stays
// as it is, and takes no lock.
void csched_os_atfork_(csched_atfork *atfork, void (*handler)(csched_atfork *, csched_atfork_phase)) {
  if (csched_load_relaxed(&atfork->back) != NULL) return; // Speed only: it is in the list
  if (!is_forking) pthread_mutex_lock(&list_lock);
  if (atfork->back == NULL) { // NULL: not in the list yet
    atfork->handler = handler;
    atfork->next = all;
    if (all != NULL) set_back(all, &atfork->next);
    all = atfork;
    set_back(atfork, &all);
  }
  if (!is_forking) pthread_mutex_unlock(&list_lock);
}

static void unlink_locked(csched_atfork *atfork) {
  if (atfork->back == NULL) return; // not in the list
  *atfork->back = atfork->next;
  if (atfork->next != NULL) set_back(atfork->next, atfork->back);
  set_back(atfork, NULL);
}

void csched_os_atfork_end_(csched_atfork *atfork) {
  if (!is_forking) pthread_mutex_lock(&list_lock);
  unlink_locked(atfork);
  if (!is_forking) pthread_mutex_unlock(&list_lock);
}

// Does: inserts `atfork` in front of `next`. Requires: the caller owns `list_lock`.
static void link_before(csched_atfork *atfork, csched_atfork *next) {
  atfork->next = next;
  set_back(atfork, next->back);
  *atfork->back = atfork;
  set_back(next, &atfork->next);
}

// `mark` is a cursor: an entry of the list that stands for no object. If `visit` refuses an entry, `mark` is linked in
// front of that entry. The next call unlinks `mark`, and begins with the entry that was behind it. With a `mark`
// outside the list, a call begins with the newest entry.
bool csched_os_atfork_visit_(csched_atfork *mark, bool (*visit)(csched_atfork *, void *), void *context) {
  pthread_mutex_lock(&list_lock);
  csched_atfork *each = mark->back != NULL ? mark->next : all;
  unlink_locked(mark);
  while (each != NULL && visit(each, context)) each = each->next;
  if (each != NULL) link_before(mark, each);
  pthread_mutex_unlock(&list_lock);
  return each != NULL;
}

// Does: calls all handlers, newest first, for one phase, but not those of entries that a handler adds. Requires: the
// caller owns `list_lock`.
static void call_handlers(csched_atfork_phase phase) {
  for (csched_atfork *each = all, *next; each != NULL; each = next) {
    next = each->next;
    each->handler(each, phase);
  }
}

static void (*before_all)(void), (*after_all)(void); // NULL: none

void csched_os_around_fork_(void (*before)(void), void (*after)(void)) {
  before_all = before;
  after_all = after;
}

static void before_fork(void) {
  if (before_all != NULL) before_all();
  pthread_mutex_lock(&list_lock); // both locks: no other thread may own one during the fork
  pthread_mutex_lock(&key_lock);
  is_forking = true; // handlers add entries without locking `list_lock`
  call_handlers(CSCHED_ATFORK_BEFORE);
}

static void in_parent(void) { // after the fork
  call_handlers(CSCHED_ATFORK_IN_PARENT);
  is_forking = false;
  pthread_mutex_unlock(&key_lock);
  pthread_mutex_unlock(&list_lock);
  if (after_all != NULL) after_all();
}

// Returns: an entry whose handler has asked to be called after the fork, and does not ask any more; NULL: none.
static csched_atfork *take_continuing(void) {
  pthread_mutex_lock(&list_lock);
  csched_atfork *each = all;
  while (each != NULL && !each->continues) each = each->next;
  if (each != NULL) each->continues = false;
  pthread_mutex_unlock(&list_lock);
  return each;
}

static void in_child(void) {                         // after the fork
  csched_store_relaxed(&live, is_counted ? 1u : 0u); // a count of live threads: the child has only this thread
  call_handlers(CSCHED_ATFORK_IN_CHILD_FIRST);       // resets locks, which the later phases use
  call_handlers(CSCHED_ATFORK_IN_CHILD);
  call_handlers(CSCHED_ATFORK_IN_CHILD_LAST);
  is_forking = false;
  pthread_mutex_unlock(&key_lock);
  pthread_mutex_unlock(&list_lock);
  if (after_all != NULL) after_all();
  for (csched_atfork *each; (each = take_continuing()) != NULL;) each->handler(each, CSCHED_ATFORK_AFTER_CHILD);
}

// At load, before the program registers handlers with pthread_atfork: so before_fork runs after the program's handlers,
// and in_child before them.
__attribute__((constructor)) static void add_handlers(void) { pthread_atfork(before_fork, in_parent, in_child); }

// MARK: panic

static ssize_t write_some(const char *text, size_t size) { // Returns: bytes written to standard error; -1: see errno
  ssize_t written = write(STDERR_FILENO, text, size);
  if (written >= 0 || errno == EINTR) return written;
  return writev(STDERR_FILENO, &(struct iovec){(void *)(uintptr_t)text, size}, 1); // a filter may forbid only write()
}

void csched_os_say_(const char *text) { // writes `text` to standard error; gives up at an error
  int saved = errno, before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  for (size_t left = strlen(text); left > 0;) {
    ssize_t written = write_some(text, left);
    if (written < 0 && errno != EINTR) break;
    if (written > 0) {
      text += written;
      left -= (size_t)written;
    }
  }
  pthread_setcancelstate(before, &before);
  errno = saved;
}

int csched_os_disable_cancellation_(void) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

void csched_os_restore_cancellation_(int before) { pthread_setcancelstate(before, &before); }

void csched_os_abort_(const char *text) {
  csched_os_disable_cancellation_(); // sleep() is a cancellation point
  csched_os_say_(text);
  // A seccomp filter may forbid the system calls of abort(), which then executes an illegal instruction. So try kill()
  // if pthread_kill() fails.
  if (pthread_kill(pthread_self(), 0) != 0 && kill(getpid(), SIGABRT) == 0) sleep(1); // until the signal arrives
  abort();
}

static const char *name_of_error(int error) { // returns: the name and the meaning of an errno value
  static const struct {
    int error;
    const char *name;
  } names[] = {{EPERM, "EPERM, not permitted"},    {EACCES, "EACCES, not permitted"},
               {ENOSYS, "ENOSYS, no such call"},   {EBADF, "EBADF, closed"},
               {ENOENT, "ENOENT, not in there"},   {EINVAL, "EINVAL, not valid"},
               {ENOMEM, "ENOMEM, no memory"},      {EMFILE, "EMFILE, no descriptors"},
               {ENFILE, "ENFILE, no descriptors"}, {EFAULT, "EFAULT, no memory there"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].error == error) return names[i].name;
  return "an error"; // not strerror(), which may open a file of translations
}

void csched_os_abort_refused_(const char *function, const char *call, int error, const char *advice) {
  char text[512];
  snprintf(text, sizeof text, "Scheduler: %s: the system refused %s (errno %d: %s). %s\n", function, call, error,
           name_of_error(error), advice);
  csched_os_abort_(text);
}
#endif
