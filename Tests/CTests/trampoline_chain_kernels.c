#include "fork_kernel.h"

typedef struct chain {
  probe *links;
  int64_t left;
  const char *lowest, *highest;
} chain;

static void hop(probe *probe) {
  chain *chain = probe->context;
  const char *here = __builtin_frame_address(0);
  if (chain->lowest == NULL || here < chain->lowest) chain->lowest = here;
  if (here > chain->highest) chain->highest = here;
  if (--chain->left <= 0) return;
  struct probe *next = &chain->links[chain->left % 2 == 0 ? probe->id : 1 - probe->id]; // itself, and another
  csched_trampoline_run(job_of(next));
}

static void run_chain(int64_t hops) {
  probe links[2];
  chain chain = {.links = links, .left = hops};
  for (int i = 0; i < 2; i++) {
    probe_init(&links[i], hop, &chain);
    links[i].id = i;
  }
  csched_trampoline_run(job_of(&links[0]));
  CHECK_EQUAL(chain.left, 0);
  CHECK(chain.highest - chain.lowest < 4096); // constant stack
}

ctest_failure ctest_trampoline_chain(int64_t hops) {
  KERNEL();
  run_chain(hops);
  return kernel_result();
}

// In a child, where nobody else takes memory meanwhile.
static void measure_chain(void *context) {
  int64_t before = ctest_resident_bytes();
  run_chain(*(int64_t *)context);
  CHECK(ctest_resident_bytes() - before < (16 << 20)); // flat memory: a byte and a half for a hop of ten million
  child_end();
}

ctest_failure ctest_trampoline_chain_memory(int64_t hops) {
  KERNEL();
  CHECK_CHILD(measure_chain, &hops);
  return kernel_result();
}
