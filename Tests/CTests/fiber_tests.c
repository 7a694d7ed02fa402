#include "pool_testing.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

// Weak: musl declares them, and has none: there nothing is tested.
extern __typeof__(getcontext) getcontext __attribute__((weak));
extern __typeof__(makecontext) makecontext __attribute__((weak));
extern __typeof__(swapcontext) swapcontext __attribute__((weak));

// A thread whose own stack lies between the stacks of two fibers. Addresses on two stacks do not show which function
// called which.

enum { STACK = 256 * 1024 };

static struct {
  ucontext_t own, fiber;
  char *fiber_stack;
  void (*body)(void);
} stacks;

static void enter_fiber(void) {
  stacks.body();
  swapcontext(&stacks.fiber, &stacks.own);
  abort(); // it is over
}

// Calls `body` on the fiber, until it leaves that, or returns.
static void on_fiber(void (*body)(void)) {
  stacks.body = body;
  if (getcontext(&stacks.fiber) != 0) abort();
  stacks.fiber.uc_stack = (stack_t){.ss_sp = stacks.fiber_stack, .ss_size = STACK};
  stacks.fiber.uc_link = NULL;
  makecontext(&stacks.fiber, enter_fiber, 0);
  swapcontext(&stacks.own, &stacks.fiber);
}

static void leave_fiber(void) { swapcontext(&stacks.fiber, &stacks.own); }
static void continue_in_fiber(void) { swapcontext(&stacks.own, &stacks.fiber); }

static void on_stacks(void *(*body)(void *), bool is_fiber_higher) {
  if (swapcontext == NULL) return;
  char *memory = mmap(NULL, 3 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;
  if (memory == MAP_FAILED || pthread_attr_init(&attributes) != 0) abort();
  stacks.fiber_stack = is_fiber_higher ? memory + 2 * STACK : memory;
  if (pthread_attr_setstack(&attributes, memory + STACK, STACK) != 0) abort();
  if (pthread_create(&thread, &attributes, body, NULL) != 0) abort();
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  munmap(memory, 3 * STACK);
}

static journal order;
static probe probes[8];

static void log_it(probe *probe) { journal_add(&order, probe->id); }

static void submit(int id, void (*body)(probe *)) {
  probe_init(&probes[id], body, NULL);
  probes[id].id = id;
  csched_trampoline_run(job_of(&probes[id]));
}

// MARK: a trampoline

static void submit_on_fiber(void) {
  CHECK(!csched_trampoline_is_required());
  CHECK(!csched_trampoline_enter());
  submit(2, log_it);
}

static void use_fiber(probe *probe) {
  log_it(probe);
  on_fiber(submit_on_fiber);
  CHECK(!csched_trampoline_is_required());
  submit(3, log_it);
  CHECK_JOURNAL(&order, "1");
}

static void leave_while_open(probe *probe) {
  log_it(probe);
  leave_fiber();
  CHECK(!csched_trampoline_is_required());
  submit(3, log_it);
  CHECK_JOURNAL(&order, "1");
}

static void open_on_fiber(void) { submit(1, leave_while_open); }

static jmp_buf back;
static void jump(probe *probe) {
  log_it(probe);
  submit(5, log_it);
  longjmp(back, 1);
}

static void leave_trampoline(void) {
  if (setjmp(back) == 0) submit(4, jump);
}

static void *trampolines(void *unused) {
  for (int i = 0; i < 3; i++) {
    order = (journal){0};
    submit(1, use_fiber);
    CHECK_JOURNAL(&order, "1,2,3");
    order = (journal){0};
    on_fiber(open_on_fiber);
    CHECK(!csched_trampoline_is_required());
    submit(2, log_it); // on the own stack, though it was opened on the other
    CHECK_JOURNAL(&order, "1");
    continue_in_fiber();
    CHECK_JOURNAL(&order, "1,2,3");
    CHECK(csched_trampoline_is_required());
    order = (journal){0};
    leave_trampoline(); // on the own stack it is found
    CHECK(csched_trampoline_is_required());
    CHECK_PROBE(&probes[4], 1, 0);
    submit(6, log_it);
    CHECK_JOURNAL(&order, "4,6,5");
  }
  return unused;
}

static void fiber_trampoline(bool is_fiber_higher) { on_stacks(trampolines, is_fiber_higher); }

TEST_UNLESS(SANITIZERS | VALGRIND, "the tool does not support these stacks",
            "a trampoline keeps its order across stacks") { // TP1, TP5
  fiber_trampoline(false);
  fiber_trampoline(true);
}

// MARK: the current target

static csched_loop *loop;
static csched_serial *queue;

static void check_never(void *unused) { CHECK(unused == &loop); }

static void check_inside(void) {
  CHECK(csched_loop_current() == loop);
  CHECK(csched_target_current() == csched_serial_target(queue));
  CHECK(csched_target_is_inside(csched_loop_target(loop)));
  CHECK_EQUAL(csched_serial_sync(queue, check_never, NULL), EDEADLK);
  CHECK_EQUAL(csched_job_cancel_and_wait(job_of(&probes[1])), CSCHED_CANCEL_RUNNING); // does not wait: it is inside
  CHECK(!csched_job_is_idle(job_of(&probes[1])));
}

static void run_on_fiber(void) {
  check_inside();
  submit(2, log_it);
  csched_target_submit(csched_loop_target(loop), job_of(&probes[3]));
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1); // a nested run on another stack
  check_inside();
}

static void look_from_fiber(probe *probe) {
  log_it(probe);
  on_fiber(run_on_fiber);
  check_inside();
  CHECK_JOURNAL(&order, "1,2,3");
}

static void look_here_while_left(probe *probe) {
  log_it(probe);
  check_inside();
  leave_fiber();
  check_inside();
}

static void run_loop(void) { csched_loop_run_ready(loop, 1); }

static void *currents(void *unused) {
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_serial_create(&queue, csched_loop_target(loop)), 0);
  for (int i = 0; i < 3; i++) {
    order = (journal){0};
    probe_init(&probes[1], look_from_fiber, NULL);
    probe_init(&probes[3], log_it, NULL);
    probes[1].id = 1;
    probes[3].id = 3;
    csched_target_submit(csched_serial_target(queue), job_of(&probes[1]));
    csched_loop_run_ready(loop, 1);
    CHECK_PROBE(&probes[1], 1, 0);
    CHECK(csched_loop_current() == NULL);
    probe_init(&probes[1], look_here_while_left, NULL);
    csched_target_submit(csched_serial_target(queue), job_of(&probes[1]));
    on_fiber(run_loop);
    check_inside();
    continue_in_fiber();
    CHECK_PROBE(&probes[1], 1, 0);
    CHECK(csched_target_current() == NULL);
  }
  csched_serial_destroy(queue);
  csched_loop_destroy(loop);
  return unused;
}

static void fiber_current(bool is_fiber_higher) { on_stacks(currents, is_fiber_higher); }

TEST_UNLESS(SANITIZERS | VALGRIND, "the tool does not support these stacks", "each stack has its own current job") {
  fiber_current(false);
  fiber_current(true);
}
