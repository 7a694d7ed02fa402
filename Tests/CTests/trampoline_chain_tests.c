#include "testing.h"

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

static int ten_million_hops(void) { return times_least(10000000, 1000000); }

TEST("a chain of ten million hops") { // TP3
  int64_t before = ctest_thread_processor_time(ctest_thread_id());
  run_chain(ten_million_hops());
  bool is_slowed = is_under(VALGRIND | QEMU);
  if (!is_slowed) CHECK(ctest_thread_processor_time(ctest_thread_id()) - before < (int64_t)(30000 * MS));
}

TEST_UNLESS(SANITIZERS | VALGRIND | QEMU, "the tool's own memory grows",
            "a chain of ten million hops takes no memory") {
  int64_t before = ctest_resident_bytes();
  run_chain(ten_million_hops());
  CHECK(ctest_resident_bytes() - before < (16 << 20)); // flat memory: a byte and a half for a hop of ten million
}
