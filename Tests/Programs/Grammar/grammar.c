// Contract: Grammar.h.
#define _GNU_SOURCE // dladdr
#include "Grammar.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// MARK: the lot

static uint64_t state;
static uint64_t lot(void) { // splitmix64
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static int below(int count) { return (int)(lot() % (uint64_t)count); }
static bool once_in(int count) { return below(count) == 0; }

// MARK: programs

static program whole;
static program_node *const nodes = whole.nodes;
static program_step *const steps = whole.steps;
static int *const actor_first = whole.actor_first;
static bool is_enabled[SWIFT_STEP_KINDS], is_swift, is_unshared, is_virtual, has_loop;

static const char *const step_names[] = {"submit",
                                         "submit_at",
                                         "sync",
                                         "cancel",
                                         "cancel_and_wait",
                                         "sleep",
                                         "lock",
                                         "suspend",
                                         "group",
                                         "group, until",
                                         "fork and join",
                                         "apply",
                                         "submit, and end the thread",
                                         "stop",
                                         "fork()",
                                         "submit_at the end of time, and cancel",
                                         "make, use and end objects",
                                         "submit very many",
                                         "end a thread that syncs at last with",
                                         "submit a read, and the write that ends it,",
                                         "misuse, in a child",
                                         "submit, with a capture",
                                         "submit, periodic",
                                         "task",
                                         "perform",
                                         "await sleep",
                                         "async lock",
                                         "async group",
                                         "cancel the task",
                                         "with a cancellation handler",
                                         "submit a hundred",
                                         "submit, with a context",
                                         "event",
                                         "await a unit that is signalled on",
                                         "with a timeout",
                                         "a socket's sources, on",
                                         "a signal's source, on",
                                         "a process, watched on"};

static bool is_root(int n) { return nodes[n].base == NONE; }
static int root_of(int n) {
  while (!is_root(n)) n = nodes[n].base;
  return n;
}
static bool is_exclusive(int n) {
  const program_node *node = &nodes[n];
  return node->kind == THREAD || node->kind == LOOP || node->kind == SERIAL || node->kind == BARRIER ||
         (node->kind == LIMIT && node->most == 1);
}

// Returns: the least of the nodes of which a job on `n` holds all, or a permit; NODES: none.
static int held_by(int n) {
  int least = NODES;
  for (; n != NONE; n = nodes[n].base)
    if (is_exclusive(n) || nodes[n].kind == LIMIT) least = n;
  return least;
}

// Returns: whether a job on `n` that waits for the queue `queue` lends it its permit: both are on one limit, and the
// numbers of the queues decrease.
static bool lends(int n, int queue) {
  int limit = nodes[queue].base;
  if (limit == NONE || nodes[limit].kind != LIMIT || is_exclusive(limit) || nodes[nodes[limit].base].kind != POOL)
    return false;
  return n == limit || (n != NONE && nodes[n].kind == SERIAL && nodes[n].base == limit && queue < n);
}

// Returns: the greatest of the nodes that must continue for a job on `n` to run; NONE: a pool's alone.
static int needed_by(int n) {
  int most = NONE;
  for (; n != NONE; n = nodes[n].base)
    if (nodes[n].kind != POOL && nodes[n].kind != INLINE && n > most) most = n;
  return most;
}

// MARK: generation

typedef struct context {
  int held, node;   // the least node that is held; the node that the work is on, or NONE
  int depth, owner; // owner: step, or -2 - actor
  bool is_outside, may_block, may_run_inline, is_waited; // may_run_inline: work may run inside of a submission
  bool is_on_hard;                                       // the thread is one of a pool that adds none
  bool is_async, may_lock;                               // is_async: in a task; may_lock: and without the AsyncLock
  int executor,
      handled; // in a task: the least node that its jobs hold, NODES: none; the node of the handler around it, or NONE
} context;

static void make_body(context here, int most);

static int add_step(program_step_kind kind, context here) {
  int i = whole.step_count++;
  steps[i] =
      (program_step){.kind = kind, .node = NONE, .other = NONE, .parent = here.owner, .first = NONE, .next = NONE};
  int *link = here.owner < 0 ? &actor_first[-2 - here.owner] : &steps[here.owner].first;
  while (*link != NONE) link = &steps[*link].next;
  *link = i;
  return i;
}

static bool runs_inline(int n) { return nodes[root_of(n)].kind == INLINE; }
static bool is_on_hard_pool(int n) { return nodes[root_of(n)].kind == POOL && nodes[root_of(n)].is_hard; }

// Returns: a node to submit to; NONE: none fits. `waits`: the step waits for what it submits.
static int lot_node(context here, bool waits, bool is_serial) {
  for (int tries = 0; tries < 8; tries++) {
    int n = below(whole.node_count);
    if (is_serial && nodes[n].kind != SERIAL) continue;
    if (waits && needed_by(n) >= here.held && !(is_serial && lends(here.node, n))) continue;
    if (!here.may_run_inline && runs_inline(n)) continue;
    return n;
  }
  return NONE;
}

static context body_of(int i, context here, int held) {
  return (context){.held = held,
                   .handled = NONE,
                   .node = here.node,
                   .depth = here.depth + 1,
                   .owner = i,
                   .is_on_hard = here.is_on_hard,
                   .may_block = true,
                   .may_run_inline = true};
}

// Does: makes the work of step `i` on node `n` fit for a target that runs it at once, on the stack of its submitter, or
// of another one of the same queue, which may hold anything.
static void fit_for_inline(context *body) {
  body->held = 0;
  body->may_block = false;
}

static int min(int a, int b) { return a < b ? a : b; }

// Returns: `kind`, or the kind of step that is possible here in its place.
static program_step_kind possible(program_step_kind kind, context here) {
  bool is_of_tasks = kind == PERFORM || kind == ASYNC_SLEEP || kind == ASYNC_LOCK || kind == ASYNC_GROUP ||
                     kind == HANDLER || kind == ASYNC_UNIT || kind == TIMEOUT;
  bool is_of_threads = kind == SYNC || kind == EVENT || kind == LOCK || kind == SUSPEND || kind == GROUP ||
                       kind == GROUP_SOON || kind == APPLY || kind == FORK || kind == MAKE || kind == LAST;
  if (!is_enabled[kind]) kind = SUBMIT;
  if (is_swift && (kind == FORKS || kind == EXIT || kind == MANY || kind == LAST || kind == READ || kind == MISUSE))
    kind = SUBMIT;
  bool makes_in_task =
      kind == MAKE && is_swift && !is_virtual; // there the threads are Dispatch's, with a mask of their own
  if (here.is_async ? is_of_threads && !makes_in_task : is_of_tasks) kind = SUBMIT;
  if (kind == ASYNC_LOCK && !here.may_lock) kind = ASYNC_SLEEP;
  if (here.is_async)
    return here.depth >= DEPTH && (kind == ASYNC_LOCK || kind == ASYNC_GROUP || kind == TIMEOUT) ? ASYNC_SLEEP : kind;
  bool is_blocking = kind == SYNC || kind == EVENT || kind == CANCEL_AND_WAIT || kind == GROUP || kind == GROUP_SOON ||
                     kind == FORKS || kind == MAKE || kind == LAST;
  if (is_blocking && !here.may_block) kind = SUBMIT;
  if ((kind == GROUP || kind == GROUP_SOON || kind == STOP || kind == FORK || kind == MISUSE || kind == CANCEL_TASK) &&
      !here.is_outside)
    kind = SUBMIT;
  if (kind == APPLY && (here.is_waited || here.held == 0))
    kind = SLEEP; // whose calls lock, unless they are under the lock
  if ((kind == LOCK || kind == SUSPEND) && !here.may_block) kind = SLEEP;
  if (here.depth >= DEPTH && (kind == LOCK || kind == SUSPEND || kind == GROUP || kind == GROUP_SOON)) kind = SLEEP;
  return kind;
}

static bool is_action(int i) { // that can be cancelled
  return steps[i].kind == SUBMIT || steps[i].kind == DELAY || steps[i].kind == CAPTURE || steps[i].kind == PERIODIC ||
         steps[i].kind == CONTEXT;
}

// Returns: whether a step of the kind can cancel step `i`. What is scheduled through a context is waited for with it.
static bool can_cancel(program_step_kind kind, context here, int i) {
  if (kind == CANCEL_TASK) return steps[i].kind == TASK;
  if (!is_action(i)) return false;
  if (kind == CANCEL || here.is_async) return true;
  if (steps[i].kind == CONTEXT) return here.held == NODES;
  return needed_by(steps[i].node) < here.held && held_by(steps[i].node) <= here.held;
}

// Returns: an earlier step, beside or, if nothing is held here, anywhere, that a step of the kind can cancel; NONE:
// there is none.
static int lot_cancelled(program_step_kind kind, context here) {
  int found = NONE;
  if ((kind == CANCEL || here.is_outside || here.is_async) && once_in(2)) {
    for (int i = 0; i < whole.step_count; i++)
      if (can_cancel(kind, here, i) && (found == NONE || once_in(3))) found = i;
    return found;
  }
  for (int i = here.owner < 0 ? actor_first[-2 - here.owner] : steps[here.owner].first; i != NONE; i = steps[i].next)
    if (can_cancel(kind, here, i) && (found == NONE || once_in(2))) found = i;
  return found;
}

// Returns: the node of a step of this kind; NONE: none fits.
static int lot_node_for(program_step_kind kind, context here) {
  int found = NONE;
  switch ((int)kind) {
  case SUBMIT:
  case DELAY:
  case CAPTURE:
  case PERIODIC:
  case BURST:
  case FAR:
  case CONTEXT: return lot_node(here, here.is_waited, false);
  case EVENT: return lot_node(here, true, false);
  case LAST: // the wait for the thread lends nothing, and no other thread takes the place of one that a pool must have
    here.node = NONE;
    found = lot_node(here, true, true);
    return found != NONE && here.is_on_hard && is_on_hard_pool(found) ? NONE : found;
  case ASYNC_UNIT:
  case SYNC: return lot_node(here, true, true);
  case PERFORM:
  case ASYNC_SLEEP: return here.handled != NONE && once_in(2) ? here.handled : lot_node(here, false, false);
  case MANY: found = lot_node(here, here.is_waited, false); return found != NONE && runs_inline(found) ? found : NONE;
  case HANDLER: here.may_run_inline = false; return lot_node(here, false, false);
  case APPLY:
    found = below(whole.node_count);
    if (!is_swift) return here.may_run_inline || !runs_inline(found) ? found : NONE;
    return nodes[found].kind == POOL || nodes[found].kind == LIMIT ? found : NONE;
  default: break;
  }
  for (int tries = 0; tries < (kind == STOP ? 4 : 8) && found == NONE; tries++) {
    int n = below(whole.node_count);
    program_node_kind of = nodes[n].kind;
    if ((kind == EXIT && of == POOL) || (kind == READ && of == POOL && !nodes[n].is_hard) ||
        ((kind == SOURCES || kind == SIGNAL || kind == PROCESS) && of == THREAD) ||
        (kind == STOP && ((of == THREAD && !is_virtual) || (of == POOL && !(is_swift && n == 0)))) ||
        (kind == SUSPEND && of == SERIAL && n < here.held) || (kind == TASK && !runs_inline(n) && of != BARRIER))
      found = n;
  }
  return found;
}

// Returns: the kind of the next step. Not mostly SUBMIT, though that takes the place of what is not enabled, or not
// possible here.
static program_step_kind lot_kind(context here) {
  for (int tries = 0;; tries++) {
    program_step_kind kind = (program_step_kind)below(is_swift ? SWIFT_STEP_KINDS : C_STEP_KINDS),
                      found = possible(kind, here);
    if (found == kind || tries == 5) return found;
  }
}

static void make_step(context here) {
  program_step_kind kind = lot_kind(here);
  bool is_cancel = kind == CANCEL || kind == CANCEL_AND_WAIT || kind == CANCEL_TASK;
  bool has_node = kind != SLEEP && kind != LOCK && kind != GROUP && kind != GROUP_SOON && kind != FORKS &&
                  kind != FORK && kind != MISUSE && kind != ASYNC_LOCK && kind != ASYNC_GROUP && kind != TIMEOUT &&
                  kind != MAKE;
  int n = is_cancel ? lot_cancelled(kind, here) : has_node ? lot_node_for(kind, here) : NONE;
  if ((is_cancel || (has_node && kind != TASK)) && n == NONE) kind = SLEEP, is_cancel = false;
  if (kind == SUSPEND) nodes[n].is_suspended_somewhere = true;
  int i = add_step(kind, here);
  program_step *made = &steps[i];
  if (is_cancel) made->other = n;
  else made->node = n;
  made->amount = below(kind == DELAY ? 3000 : 300);
  if (kind == STOP) made->amount = below(2); // 0: a stop that runs, 1: a stop that drops
  // Even: the handler syncs with the queue. A task that is cancelled already does that itself, on its executor.
  if (kind == HANDLER && (nodes[n].kind != SERIAL || needed_by(n) >= here.executor)) made->amount |= 1;
  if (kind == ASYNC_UNIT && (is_virtual || needed_by(n) >= here.executor))
    made->amount |= 1; // as above, with a task of its own
  context body = here;
  switch ((int)kind) {
  case SUBMIT:
  case EXIT:
  case CONTEXT:
  case DELAY:
    body = body_of(i, here, min(held_by(n), here.is_waited ? here.held : NODES)), body.node = n,
    body.is_on_hard = is_on_hard_pool(n);
    break;
  case PERFORM: body = body_of(i, here, held_by(n)), body.node = n; break;
  case SYNC:
    body = body_of(i, here, min(here.held, held_by(n))), body.node = n;
    body.is_on_hard = here.is_on_hard || is_on_hard_pool(n);
    break;
  case FORKS: body = body_of(i, here, here.held), body.may_block = false; break;
  case SUSPEND:
  case LOCK: body = body_of(i, here, here.held), body.may_block = body.may_run_inline = false; break;
  case GROUP:
  case GROUP_SOON: body = body_of(i, here, here.held), body.may_block = false, body.is_waited = true; break;
  // The captures end where the last reference ends, beside whatever is held there.
  case CAPTURE: body = body_of(i, here, 0), body.node = NONE, body.may_block = body.may_run_inline = false; break;
  case TASK:
  case HANDLER:
  case TIMEOUT:
  case ASYNC_LOCK:
    body = body_of(i, here, NODES), body.node = NONE, body.is_async = true;
    body.handled = kind == HANDLER ? n : kind == TASK ? NONE : here.handled;
    body.executor = kind != TASK || is_virtual ? here.executor : n != NONE ? held_by(n) : NODES;
    body.may_lock = kind == TASK || (kind != ASYNC_LOCK && here.may_lock);
    break;
  case ASYNC_GROUP:
    body = body_of(i, here, NODES), body.node = NONE, body.may_block = false, body.is_waited = true;
    break;
  default: return;
  }
  if ((kind == SUBMIT || kind == DELAY || kind == PERFORM || kind == CONTEXT) && runs_inline(n)) fit_for_inline(&body);
  if (body.depth < DEPTH) make_body(body, kind == GROUP || kind == GROUP_SOON || kind == LOCK || kind == TASK ? 4 : 3);
}

static void make_body(context here, int most) {
  int count = here.owner < 0 ? most : below(most + 1);
  while (count-- > 0 && whole.step_count < STEPS) make_step(here);
}

static void make_nodes(void) {
  whole.node_count = 3 + below(NODES - 3);
  for (int n = 0; n < whole.node_count; n++) {
    program_node *made = &nodes[n];
    made->base = NONE;
    made->kind = n == 0 ? (once_in(3) ? THREAD : POOL) : (program_node_kind)below(NODE_KINDS);
    for (int i = 0; i < n; i++)
      if (made->kind == LOOP && nodes[i].kind == LOOP) made->kind = THREAD; // one, as one thread runs it
    if (is_swift && (n == 0 || made->kind == LOOP))
      made->kind = n == 0 && !is_unshared ? POOL : THREAD; // n0: the shared pool
    if (is_unshared && made->kind > SERIAL) made->kind = SERIAL;
    if (is_virtual) made->kind = n == 0 ? THREAD : SERIAL;
    if (made->kind >= SERIAL) made->base = below(n);
    if (made->kind == BARRIER) { // of a limit
      int limit = NONE;
      for (int i = 0; i < n; i++)
        if (nodes[i].kind == LIMIT && (limit == NONE || once_in(2))) limit = i;
      if (limit == NONE) made->kind = LIMIT;
      else made->base = limit;
    }
    if (is_swift && made->kind == LIMIT) made->base = 0;
    made->most = 1 + below(3);
    made->is_hard = once_in(2);
  }
  // The actor that runs a loop may wait for work of a pool, all of whose threads wait for the loop: then the pool must
  // add one.
  for (int n = 0; n < whole.node_count; n++) has_loop = has_loop || nodes[n].kind == LOOP;
  for (int n = 0; n < whole.node_count; n++) nodes[n].is_hard = nodes[n].is_hard && !has_loop;
}

static void leave_out(const char *list);

const program *make_program(uint64_t seed, program_api api, const char *without) {
  state = seed * 2 + 1;
  is_swift = api != PROGRAM_OF_C;
  is_unshared = api == PROGRAM_OF_SWIFT_UNSHARED;
  is_virtual = api == PROGRAM_OF_SWIFT_VIRTUAL;
  lot();
  for (int i = 0; i < (is_swift ? SWIFT_STEP_KINDS : C_STEP_KINDS); i++)
    is_enabled[i] = once_in(2); // swarm: each program has a part of the grammar
  if (is_unshared || is_virtual) is_enabled[FORK] = is_enabled[MAKE] = false;
  if (is_enabled[STOP])
    is_enabled[SIGNAL] = false; // at a stop, the signal has its own action again, which ends the process
  if (is_virtual) is_enabled[SOURCES] = is_enabled[SIGNAL] = is_enabled[PROCESS] = false;
  if (is_unshared && is_enabled[TASK])
    is_enabled[STOP] = false; // a task continues on the shared pool when its scheduler has been stopped
  whole.is_observed = once_in(4);
  whole.is_sampled = !is_swift && once_in(6);
  make_nodes();
  whole.actor_count = 1 + below(ACTORS);
  for (int a = 0; a < ACTORS; a++) actor_first[a] = NONE;
  for (int a = 0; a < whole.actor_count; a++) {
    int held = NODES;
    for (int n = 0; n < whole.node_count; n++)
      if (a == 0 && nodes[n].kind == LOOP && held == NODES) held = n; // the first actor runs the loops, at its end
    make_body((context){.held = held,
                        .node = NONE,
                        .owner = -2 - a,
                        .is_outside = true,
                        .may_block = !is_virtual,
                        .may_run_inline = true,
                        .is_async = is_virtual,
                        .may_lock = is_virtual,
                        .executor = 0,
                        .handled = NONE},
              4 + below(5));
  }
  if (without != NULL) leave_out(without);
  for (int i = 0; i < whole.step_count; i++)
    for (int n = steps[i].is_out ? NONE : steps[i].node; n != NONE; n = nodes[n].base) nodes[n].is_used = true;
  return &whole;
}

static void leave_out(const char *list) {
  for (const char *each = list; each != NULL; each = strchr(each, ',') != NULL ? strchr(each, ',') + 1 : NULL)
    if (atoi(each) >= 0 && atoi(each) < whole.step_count) steps[atoi(each)].is_out = true;
  for (int i = 0; i < whole.step_count; i++) { // a parent precedes its steps; so does what a cancel is for
    if (steps[i].parent >= 0 && steps[steps[i].parent].is_out) steps[i].is_out = true;
    if (steps[i].other != NONE && steps[steps[i].other].is_out) steps[i].is_out = true;
  }
}

// MARK: printing

static void print_body(int first, int indent) {
  for (int i = first; i != NONE; i = steps[i].next) {
    const program_step *each = &steps[i];
    if (each->is_out) continue;
    printf("%*s%s", indent, "", step_names[each->kind]);
    if (each->node != NONE) printf(" n%d", each->node);
    if (each->other != NONE) printf(" %d", each->other);
    if (each->kind == DELAY || each->kind == SLEEP || each->kind == GROUP_SOON || each->kind == ASYNC_SLEEP ||
        each->kind == PERIODIC)
      printf(" %d us", each->amount);
    if (each->kind == LOCK) printf(" of kind %d", each->amount % PROGRAM_LOCK_KINDS);
    if (each->kind == STOP) printf(" %s", each->amount == 0 ? "RUN" : "DROP");
    printf("%*s// %d\n", 2, "", i);
    print_body(each->first, indent + 2);
  }
}

void print_program(void) {
  const char *names[] = {
      is_virtual ? "virtual time" : "thread", "pool", "loop of actor 0", "inline", "serial", "limit", "barriers"};
  for (int n = 0; n < whole.node_count; n++) {
    if (!nodes[n].is_used) continue;
    printf("n%d = %s", n, names[nodes[n].kind]);
    if (nodes[n].base != NONE) printf(" on n%d", nodes[n].base);
    if (nodes[n].kind == LIMIT) printf(" of %d", nodes[n].most);
    if (nodes[n].kind == POOL) printf(" of %d workers%s", nodes[n].most, nodes[n].is_hard ? ", no more threads" : "");
    printf("\n");
  }
  if (whole.is_observed) printf("statistics are on\n");
  if (whole.is_sampled) printf("stacks are sampled; threads with an odd number have the least stack\n");
  for (int a = 0; a < whole.actor_count; a++) {
    printf("actor %d:\n", a);
    print_body(actor_first[a], 2);
  }
  printf("steps:");
  for (int i = 0; i < whole.step_count; i++)
    if (!steps[i].is_out) printf(" %d", i);
  printf("\n");
}

// MARK: access

const program_node *program_node_at(int number) { return &nodes[number]; }
const program_step *program_step_at(int number) { return &steps[number]; }
int program_first_of(int actor) { return actor_first[actor]; }
int program_root_of(int number) { return root_of(number); }
bool program_is_exclusive(int number) { return is_exclusive(number); }

// MARK: fork

enum { CHILD_LIMIT = 10 }; // seconds

// Handler of SIGALRM, in a child that does not end. Does: ends it with its stack on stderr; without a failure if it
// waits for a lock of the Swift runtime. The runtime does not support fork (ForkSafely.md), so the lock of a thread
// that made a type at the fork stays locked in the child.
static void end_late_child(int number) {
  void *frames[64];
  int count = backtrace(frames, 64);
  const char *waits_for = "";
  for (int i = 1; i < count; i++) { // frame 0 is this function; the C library delivers the signal, and waits
    Dl_info info;
    if (dladdr(frames[i], &info) == 0 || strstr(info.dli_fname, "libc.so") != NULL) continue;
    waits_for = info.dli_fname;
    break;
  }
  if (strstr(waits_for, "libswiftCore") != NULL) _exit(0);
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
  _exit(number);
}

static bool is_child;
static void note_child(void) { // before the library's own handlers, which may run jobs
  sigset_t late;
  is_child = true;
  sigemptyset(&late);
  sigaddset(&late, SIGALRM);
  signal(SIGALRM, end_late_child);
  pthread_sigmask(SIG_UNBLOCK, &late, NULL);
  alarm(CHILD_LIMIT);
}
__attribute__((constructor(101))) static void before_the_library(void) { pthread_atfork(NULL, NULL, note_child); }

bool program_is_child(void) { return is_child; }

int program_fork(void (*child)(void)) {
  void *frame;
  backtrace(&frame, 1); // loads the unwinder, which a handler must not do
  pid_t made = fork();
  if (made == 0) {
    child();
    _exit(0);
  }
  int status = -1;
  while (made > 0 && waitpid(made, &status, 0) != made) {}
  return status;
}
