// platform.h on simulated threads, futexes and time.

#define _GNU_SOURCE
#include <CScheduler/lock.h>
#include "internal.h"

#include "../../../Sources/CScheduler/targets/task_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t csched_has_membarrier_ = 1;

// Each reading of the clock takes time, so that a spin loop ends.
csched_time csched_now(void) {
  model_step(MODEL_WRITES, &model_clock, "clock", __FILE__, __LINE__);
  return model_clock += model_clock_step();
}

csched_futex_result csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline) {
  model_step(MODEL_ANYTHING, NULL, "futex wait", __FILE__, __LINE__);
  uint64_t seen = model_kernel_load(word);
  model_log(seen == expected ? "futex wait: sleeps on" : "futex wait: changed", word, seen, __FILE__, __LINE__);
  if (seen != expected) return CSCHED_FUTEX_CHANGED;
  if (deadline <= model_clock) return CSCHED_FUTEX_TIMED_OUT;
  if (model_chance(16)) return CSCHED_FUTEX_INTERRUPTED;
  model_block(word, deadline);
  return model_threads[model_self].was_woken ? CSCHED_FUTEX_WOKEN : CSCHED_FUTEX_TIMED_OUT;
}

void csched_futex_wake_(uint32_t *word, int count) {
  model_step(MODEL_ANYTHING, NULL, "futex wake", __FILE__, __LINE__);
  model_fence_of(model_self);
  int woken = 0;
  for (int t = 0; t < model_thread_count && woken < count; t++) {
    model_thread *each = &model_threads[t];
    if (each->status != MODEL_BLOCKED || each->waits_for != word) continue;
    each->status = MODEL_READY;
    each->was_woken = true;
    woken++;
  }
  model_log("futex wake", word, (uint64_t)woken, __FILE__, __LINE__);
}

// MARK: pollers, without descriptors but the clocks' alarms: a wake and an alarm stay until they are read

enum { POLLERS = 4 };
static csched_poller *pollers[POLLERS];

void __tsan_read4(void *address);
void __tsan_write4(void *address);

int csched_poller_open_(csched_poller *poller, const char *function) {
  (void)function;
  model_step(MODEL_ANYTHING, NULL, "poller open", __FILE__, __LINE__);
  __tsan_write4(&poller->fd); // as the port would
  poller->armed = CSCHED_FOREVER;
  poller->wake = 0;
  for (poller->fd = 0; pollers[poller->fd] != NULL; poller->fd++) {}
  pollers[poller->fd] = poller;
  return 0;
}

void csched_poller_close_(const csched_poller *poller) { pollers[poller->fd] = NULL; }

void model_reset_pollers(void) { memset(pollers, 0, sizeof pollers); }

int csched_poller_wake_(const csched_poller *poller) {
  model_step(MODEL_ANYTHING, NULL, "poller wake", __FILE__, __LINE__);
  __tsan_read4((void *)&poller->fd);
  model_fence_of(model_self);
  ((csched_poller *)poller)->wake++;
  for (int t = 0; t < model_thread_count; t++) {
    model_thread *each = &model_threads[t];
    if (each->status != MODEL_BLOCKED || each->waits_for != poller) continue;
    each->status = MODEL_READY;
    each->was_woken = true;
  }
  model_log("poller wake", &poller->wake, (uint64_t)poller->wake, __FILE__, __LINE__);
  return 0;
}

void csched_poller_set_alarm_(csched_poller *poller, csched_time deadline) {
  model_step(MODEL_ANYTHING, NULL, "poller arm", __FILE__, __LINE__);
  poller->armed = deadline;
  model_log("poller arm", &poller->wake, deadline, __FILE__, __LINE__);
}

int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag) {
  (void)before, (void)events;
  model_attach_alarm(poller, fd, tag);
  return 0;
}

static bool is_readable(const csched_poller *poller) {
  return poller->wake > 0 || poller->armed <= model_clock || model_rings(poller);
}

// A wait returns by a wake, by the alarm, or early.
static void wait_for(csched_poller *poller) {
  model_step(MODEL_ANYTHING, NULL, "poller wait", __FILE__, __LINE__);
  if (is_readable(poller) || model_chance(16)) return;
  model_log("poller sleeps", &poller->wake, 0, __FILE__, __LINE__);
  csched_time rings_at = model_rings_at(poller);
  model_block(poller, rings_at < poller->armed ? rings_at : poller->armed);
}

int csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks) {
  if (blocks) wait_for(poller);
  model_step(MODEL_ANYTHING, NULL, "poller look", __FILE__, __LINE__);
  model_fence_of(model_self);
  poller->wake = 0;
  if (poller->armed <= model_clock) poller->armed = CSCHED_FOREVER;
  return model_take_rings(poller, events, most);
}

void model_poll(int fd) {
  if (!is_readable(pollers[fd])) wait_for(pollers[fd]);
}

int model_wakes(int fd) { return pollers[fd]->wake; }

void csched_poller_abort_refused_(const csched_poller *poller, int error) {
  (void)poller, (void)error;
  model_fail("a poller refuses", __FILE__, __LINE__);
}

void csched_poller_require_intact_(const csched_poller *poller) { (void)poller; }

bool csched_fences_decide_(void) { return csched_has_membarrier_ != 0; }

void csched_fence_heavy_(void) {
  model_step(MODEL_ANYTHING, NULL, "heavy fence", __FILE__, __LINE__);
  model_fence_of(model_self);
  if (csched_has_membarrier_) {
    for (int t = 0; t < model_thread_count; t++) model_fence_of(t);
    model_fence_of(model_self);
  }
  model_log("heavy fence", NULL, 0, __FILE__, __LINE__);
}

#ifdef MODEL_PROCESSORS
extern int MODEL_PROCESSORS;
unsigned csched_cpu_count_(void) { return (unsigned)MODEL_PROCESSORS; }
#else
unsigned csched_cpu_count_(void) { return 2; }
#endif

uint32_t csched_processors_seen_ = CSCHED_PROCESSORS_MANY_;
void csched_processors_note_own_(void) {}
bool csched_processors_recheck_(void) { return false; }

void csched_nap_(csched_time span) {
  model_step(MODEL_ANYTHING, NULL, "nap", __FILE__, __LINE__);
  model_block(NULL, model_clock + span);
}

static bool refuses_threads;

void model_refuse_threads(bool refuses) { refuses_threads = refuses; }

int csched_os_thread_start_(csched_os_thread *thread, size_t stack_size, void (*body)(void *), void *context) {
  (void)stack_size;
  model_step(MODEL_ANYTHING, NULL, "thread start", __FILE__, __LINE__);
  if (refuses_threads) return EAGAIN;
  thread->handle = (uintptr_t)model_start_thread(body, context);
  model_threads[thread->handle].is_cores = true;
  return 0;
}

int csched_os_thread_start_internal_(csched_os_thread *thread, void (*body)(void *), void *context) {
  return csched_os_thread_start_(thread, 0, body, context);
}

void csched_os_thread_join_(csched_os_thread thread) {
  model_step(MODEL_ANYTHING, NULL, "thread join", __FILE__, __LINE__);
  model_thread *other = &model_threads[thread.handle];
  if (other->given_up++ > 0) model_fail("a thread joined or detached twice", __FILE__, __LINE__);
  if (other->status != MODEL_ENDED) model_block(other, CSCHED_FOREVER);
  model_view_join(&model_threads[model_self].view, &other->view);
}

void csched_os_thread_detach_(csched_os_thread thread) {
  if (model_threads[thread.handle].given_up++ > 0) model_fail("a thread joined or detached twice", __FILE__, __LINE__);
}

size_t csched_os_thread_count_(void) { return 0; }
void csched_os_thread_leave_count_(void) {}

// Simulated threads are threads of the system, with stacks of their own.
void csched_os_thread_get_stack_(uintptr_t *low, uintptr_t *high) {
  pthread_attr_t attributes;
  void *address;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &address, &size);
  pthread_attr_destroy(&attributes);
  *low = (uintptr_t)address;
  *high = *low + size;
}

void csched_os_call_with_cleanup_(void (*body)(void *), void (*finally)(void *), void *context) {
  jmp_buf here, *outer = model_threads[model_self].exit_to;
  model_threads[model_self].exit_to = &here;
  volatile bool has_left = setjmp(here) != 0;
  if (!has_left) body(context);
  model_threads[model_self].exit_to = outer;
  finally(context);
  if (has_left) model_exit();
}

void csched_os_thread_set_name_(const char *name) { (void)name; }

int csched_os_thread_set_affinity_(const unsigned *processors, size_t count) {
  return (void)processors, (void)count, 0;
}
// None may have real time here.
int csched_os_thread_set_policy_(unsigned policy, int priority) {
  return (void)priority, policy == CSCHED_OS_POLICY_NICE ? 0 : EPERM;
}

int csched_os_disable_cancellation_(void) { return 0; }
void csched_os_restore_cancellation_(int before) { (void)before; }
uint32_t csched_os_thread_id_(void) { return model_threads[model_self].number; }

// Whether no thread with this number runs. The caller then sees what those did that have had it.
static bool has_ended(uint32_t number) {
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].number == number && model_threads[t].status != MODEL_ENDED) return false;
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].number == number) model_view_join(&model_threads[model_self].view, &model_threads[t].view);
  return true;
}

static int number_goes_to, number_of;

void model_give_number_after_look(int to, int of) {
  number_goes_to = to;
  number_of = of;
}

bool model_has_number_of(int of) {
  model_thread *me = &model_threads[model_self];
  if (me->number != (uint32_t)of + 1) return false;
  model_view_join(&me->view, &model_threads[of].view);
  return true;
}

// MARK: memory

enum { PAGES = 64 * CSCHED_TASK_UNIT };
static _Alignas(PAGES) char pages[2][PAGES];
static size_t taken, most;

void model_have_chunks(unsigned count) { most = count; }

void model_reset_pages(void) {
  memset(pages, 0, taken * PAGES);
  taken = 0;
  most = 1;
  csched_task_central_ = (csched_task_central_cache){.batches = NULL};
}

void *csched_os_pages_take_(size_t size) {
  if (taken == most || size != PAGES) return NULL;
  return pages[taken++];
}

size_t csched_os_page_size_(void) { return CSCHED_TASK_UNIT; }
void csched_os_leaks_register_(void *memory, size_t size) { (void)memory, (void)size; }

// Word by word: another thread may read in between.
void csched_os_pages_discard_(void *memory, size_t size) {
  for (uint64_t *word = memory, *end = word + size / sizeof *word; word < end; word += 8)
    csched_store_release(&((csched_job *)word)->word, 0);
}

// A large request comes from code that is not modelled.
void *csched_os_memory_allocate_(size_t size) { return size < 1 << 16 ? model_calloc(1, size) : NULL; }
void csched_os_memory_free_(void *memory, size_t size) { (void)size, model_free(memory); }

bool csched_os_thread_is_ready_(uint32_t id) { return (void)id, false; }

uint32_t csched_os_main_thread_id_(void) { return 1; }
bool csched_os_main_queue_waits_(void) { return false; }
csched_time csched_os_thread_processor_time_(uint32_t id) { return model_threads[id - 1].steps; }

bool csched_os_thread_has_nice_(int *nice) {
  *nice = 0;
  return false;
}

bool csched_os_thread_set_nice_(int nice, int base) { return nice == base; }
int csched_os_thread_nice_(void) { return 0; }
void csched_os_thread_lift_(uint32_t thread) { (void)thread; }
bool csched_os_thread_is_lifted_(uint32_t thread) {
  (void)thread;
  return false;
}
bool csched_os_signal_block_(int signal, bool blocks) { return (void)signal, (void)blocks, false; }
void csched_os_begin_with_main_mask_(void) {}
bool csched_os_main_mask_(uint64_t *mask) { return (void)mask, false; }

bool csched_os_is_main_thread_(void) { return model_self == 0; }

bool csched_os_thread_exists_(uint32_t id) { return id <= (uint32_t)model_thread_count; }

bool csched_os_thread_has_ended_(uint32_t id) {
  model_step(MODEL_ANYTHING, NULL, "look at a thread", __FILE__, __LINE__);
  bool ended = has_ended(id);
  if (ended && number_goes_to != 0) model_threads[number_goes_to].number = (uint32_t)number_of + 1;
  if (ended) number_goes_to = 0;
  return ended;
}

// Nothing forks.
// No check forks. The list has the queues and limits, which a loop looks at when it finishes its work.
static csched_atfork *listed;
static csched_lock list_lock;
void model_reset_forks(void) {
  listed = NULL;
  list_lock = (csched_lock)CSCHED_LOCK_INIT;
}
void csched_os_atfork_(csched_atfork *atfork, void (*told)(csched_atfork *, csched_atfork_phase)) {
  (void)told;
  if (atfork->is_busy == NULL) return;
  csched_lock_lock(&list_lock);
  atfork->next = listed;
  listed = atfork;
  csched_lock_unlock(&list_lock);
}
void csched_os_atfork_end_(csched_atfork *atfork) {
  if (atfork->is_busy == NULL) return;
  csched_lock_lock(&list_lock);
  csched_atfork **each = &listed;
  while (*each != NULL && *each != atfork) each = &(*each)->next;
  if (*each != NULL) *each = atfork->next;
  csched_lock_unlock(&list_lock);
}
bool csched_os_atfork_visit_(csched_atfork *mark, bool (*visit)(csched_atfork *, void *), void *context) {
  (void)mark;
  csched_lock_lock(&list_lock);
  csched_atfork *each = listed;
  while (each != NULL && visit(each, context)) each = each->next;
  csched_lock_unlock(&list_lock);
  return each != NULL;
}

// No check writes a dump of the process.
bool csched_os_copy_if_mapped_(void *copy, const void *memory, size_t size) {
  return (void)copy, (void)memory, (void)size, false;
}
void csched_os_code_name_(uintptr_t address, char *name, size_t size) { (void)address, snprintf(name, size, "?"); }
void csched_os_demangle_(char *name, size_t size) { (void)name, (void)size; }
bool csched_os_has_swift_(void) { return false; }
int csched_os_can_write_(int fd) { return (void)fd, EAGAIN; }
int csched_os_trace_open_(const char *path, int *fd) { return (void)path, (void)fd, ENOTSUP; }
void csched_os_around_fork_(void (*before)(void), void (*after)(void)) { (void)before, (void)after; }
const char *csched_os_environment_(const char *name) { return (void)name, NULL; }
void csched_os_trace_by_environment_(int (*begin)(const char *path)) { (void)begin; }
void csched_os_record_by_environment_(int (*begin)(void)) { (void)begin; }
void csched_os_watch_by_environment_(int (*begin)(csched_time span)) { (void)begin; }
bool csched_os_thread_signal_(uint32_t id, int signal) { return (void)id, (void)signal, false; }
int csched_os_backtrace_(uintptr_t *addresses, int most) { return (void)addresses, (void)most, 0; }
int csched_os_backtrace_prepare_(void) { return 0; }
int csched_os_write_(int fd, const char *text, size_t size) { return (void)fd, (void)text, (void)size, 0; }
uint32_t csched_os_process_id_(void) { return 1; }
int csched_os_handle_signal_(int signal, void (*handler)(int), csched_os_handler *before) {
  return (void)signal, (void)handler, (void)before, 0;
}
void csched_os_restore_handler_(int signal, const csched_os_handler *before) { (void)signal, (void)before; }

int csched_poller_open_replacement_(const csched_poller *poller, csched_poller *next) {
  *next = *poller;
  return 0;
}
void csched_poller_replace_(csched_poller *poller, csched_poller *next) { (void)poller, (void)next; }

int csched_poller_renew_(csched_poller *poller) {
  (void)poller;
  return 0;
}

void csched_os_thread_get_name_(uint32_t id, char *name, size_t size) {
  snprintf(name, size, "model %u", (unsigned)id);
}

int csched_tsd_set_(csched_tsd *tsd, void *value, void (*destructor)(void *)) {
  static uint32_t last;
  if (tsd->state == 0) {
    tsd->state = 2;
    tsd->key = last++;
  }
  model_threads[model_self].specific[tsd->key].value = value;
  model_threads[model_self].specific[tsd->key].destructor = destructor;
  return 0;
}

static char said[1200]; // since the last stop, as far as there is room

void csched_os_say_(const char *text) { // a panic prints its message in several pieces
  size_t length = strlen(said);
  if (length + strlen(text) >= sizeof said) length = 0;
  snprintf(said + length, sizeof said - length, "%s", text);
}

void csched_os_abort_(const char *text) {
  char all[1200];
  snprintf(all, sizeof all, "%s%s", said, text);
  said[0] = 0;
  model_panic(all);
}

// MARK: probes, which are never attached

uint32_t csched_observed_;
void (*csched_os_on_call_)(void);

void csched_os_probe_submit_(const void *target, const void *job, uintptr_t code) {
  (void)target, (void)job, (void)code;
}
void csched_os_probe_run_(const void *job, uintptr_t code) { (void)job, (void)code; }
void csched_os_probe_ran_(const void *job, bool has_run) { (void)job, (void)has_run; }
void csched_os_probe_drop_(const void *job, int reason) { (void)job, (void)reason; }
