// apply.c: AP1 to AP5, with helpers on three bases: a base of two threads, a base that starts late, a base that
// refuses.

#include "crew.h"

enum { NUMBERS = 3 };

static model_cell results[2][NUMBERS];
static uint32_t callers; // that have not returned
static int alone;        // how many parts a caller's own thread had

static void compute(void *context, size_t from, size_t to) {
  model_cell *own = context;
  if (csched_target_current() == NULL) alone++;
  for (size_t i = from; i < to; i++) model_write(&own[i], model_read(&own[i]) + 1);
}

static void call(void *context) {
  model_cell *own = context;
  csched_apply(&crew.target, 3, NUMBERS, 1, compute, own);
  for (int i = 0; i < NUMBERS; i++) model_assert(model_read(&own[i]) == 1); // AP1, AP2, AP3
  if (csched_fetch_add_acq_rel(&callers, UINT32_MAX) == 1) close_crew(false);
}

static void start(int workers, unsigned calls) {
  for (int c = 0; c < 2; c++)
    for (int i = 0; i < NUMBERS; i++) results[c][i] = (model_cell){0};
  callers = calls;
  alone = 0;
  crew_start(workers);
  for (unsigned i = 0; i < calls; i++) model_spawn(call, results[i]);
}

static void two_help(void) { start(2, 1); }
static void two_call(void) { start(1, 2); }
static void nothing_to_say(void) {}

static void refuse(void *unused) {
  (void)unused;
  close_crew(true);
}
static void refused(void) {
  start(1, 1);
  model_spawn(refuse, NULL);
}

// The helpers are passed over when the call has returned.
static void come_late(void *unused) {
  (void)unused;
  call(results[0]);
  model_assert(alone == NUMBERS); // AP4
  model_spawn(work, NULL);
}
static void late(void) {
  start(0, 0);
  callers = 1;
  model_spawn(come_late, NULL);
}

const model_check apply_checks[] = {
    {"apply: two helpers", two_help, nothing_to_say},                     // AP1, AP2, AP3, AP5
    {"apply: two callers that share a thread", two_call, nothing_to_say}, // AP1, AP2, AP3, AP5
    {"apply: a base that refuses", refused, nothing_to_say},              // AP2, AP5
    {"apply: helpers that start late", late, nothing_to_say},             // AP4, AP5
    {NULL, NULL, NULL},
};
