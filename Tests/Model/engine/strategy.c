// Chooses the thread that runs next, and the store that a load reads: by lot, by priorities, or exhaustively.

#include "strategy.h"

#include "../../../Sources/CScheduler/platform/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES = 3, TRAIL = 20000, UNFAIR = 64 };

long model_runs, model_total_steps, model_distinct;
bool model_memory_is_strong;

static uint64_t seed, state, fingerprint;
static bool exhaustive, by_priority;
static unsigned changes[CHANGES], change_count, lowest;

// MARK: what was seen

void model_note_event(uint64_t event) { fingerprint = (fingerprint ^ event) * UINT64_C(0x100000001B3); }

// Different executions are counted by a bit for each fingerprint: a few are taken for one another.
void model_count_run(void) {
  static uint8_t seen[1 << 22];
  uint32_t bit = (uint32_t)(fingerprint ^ fingerprint >> 29) % (sizeof seen * 8);
  model_runs++;
  model_distinct += (seen[bit / 8] >> bit % 8 & 1) == 0;
  seen[bit / 8] |= (uint8_t)(1 << bit % 8);
}

// MARK: by lot

static uint64_t next_random(void) { // SplitMix64
  uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

void model_strategy_seed(uint64_t with_seed) {
  exhaustive = false;
  seed = with_seed;
}

static void begin_by_lot(void) {
  state = seed;
  by_priority = seed % 3 == 0;
  change_count = 1 + (unsigned)(next_random() % CHANGES); // depth 2 to 4
  unsigned within = 40u << 2 * (next_random() % 4);       // steps: 40, 160, 640, 2560
  for (unsigned i = 0; i < CHANGES; i++) changes[i] = 1 + (unsigned)(next_random() % within);
  lowest = 1000000;
  csched_has_membarrier_ = seed % 5 != 4; // each fifth run: a kernel without it
}

static int choose_by_lot(const int *ready, int count) {
  int best = ready[0];
  if (!by_priority)
    return model_threads[model_self].status == MODEL_READY && next_random() % 3 != 0
               ? model_self
               : ready[next_random() % (unsigned)count];
  for (int i = 1; i < count; i++)
    if (model_threads[ready[i]].priority > model_threads[best].priority) best = ready[i];
  return best;
}

// MARK: exhaustively

static struct { unsigned short choice, count; } trail[TRAIL];
static unsigned depth, trail_length;
static int bound, departures; // from what happens without a reason to do otherwise
static bool had_rare_event;
static unsigned asleep;   // a bit for each thread whose next step need not come first here
static bool redundant;    // another run has the same steps in another order
static unsigned in_a_row; // steps of one thread while others could go on

void model_strategy_exhaustive(int departure_bound) {
  exhaustive = true;
  bound = departure_bound;
  trail_length = 0;
}

static unsigned decide(unsigned count) {
  if (count == 1 || redundant) return 0;
  // What the core makes once and keeps may have been made in the run before: this one then is another from here on.
  if (depth < trail_length && trail[depth].choice >= count) trail_length = depth;
  if (depth == trail_length) {
    if (trail_length == TRAIL) model_fail("too many choices: shorten the check", __FILE__, __LINE__);
    trail[trail_length].choice = 0;
    trail[trail_length++].count = (unsigned short)count;
  }
  return trail[depth++].choice;
}

bool model_next_trail(void) {
  while (trail_length > 0 && trail[trail_length - 1].choice + 1 == trail[trail_length - 1].count) trail_length--;
  if (trail_length > 0) trail[trail_length - 1].choice++;
  return trail_length > 0;
}

static bool may_depart(void) { return bound < 0 || departures < bound; }

static bool independent(const model_thread *a, const model_thread *b) {
  if (a->kind == MODEL_LOCAL || b->kind == MODEL_LOCAL) return true;
  if (a->kind == MODEL_ANYTHING || b->kind == MODEL_ANYTHING) return false;
  if (a->kind == MODEL_FENCES || b->kind == MODEL_FENCES) return a->kind != b->kind;
  return a->address != b->address || (a->kind == MODEL_READS && b->kind == MODEL_READS);
}

static int choose_exhaustively(const int *ready, int count) {
  int options[MODEL_THREADS], n = 0;
  bool goes_on = model_threads[model_self].status == MODEL_READY, tired = goes_on && count > 1 && in_a_row >= UNFAIR;
  bool may_switch = may_depart() || !goes_on || tired;
  if (goes_on && !tired && (asleep >> model_self & 1) == 0) options[n++] = model_self;
  for (int i = 0; i < count && may_switch; i++)
    if (ready[i] != model_self && (asleep >> ready[i] & 1) == 0) options[n++] = ready[i];
  if (n == 0) {
    redundant = true;
    return tired && ready[0] == model_self ? ready[1] : goes_on && !tired ? model_self : ready[0];
  }
  unsigned choice = decide((unsigned)n);
  int next = options[choice];
  if (bound < 0) { // sleep sets
    for (unsigned i = 0; i < choice; i++) asleep |= 1u << options[i];
    for (int t = 0; t < model_thread_count; t++)
      if (!independent(&model_threads[t], &model_threads[next])) asleep &= ~(1u << t);
    asleep &= ~(1u << next);
  }
  departures += goes_on && !tired && next != model_self;
  in_a_row = next == model_self ? in_a_row + 1 : 0;
  return next;
}

// MARK: the choices

void model_begin_run(void) {
  fingerprint = UINT64_C(0xCBF29CE484222325);
  depth = asleep = in_a_row = 0;
  departures = 0;
  had_rare_event = false;
  redundant = false;
  by_priority = false;
  csched_has_membarrier_ = 1;
  if (!exhaustive) begin_by_lot();
}

unsigned model_choose(unsigned count) {
  return exhaustive ? decide(count > 32 ? 1 : count) : (unsigned)(next_random() % count);
}

bool model_chance(unsigned one_in) {
  if (!exhaustive) return next_random() % one_in == 0;
  if (had_rare_event || !may_depart() || decide(2) == 0) return false;
  had_rare_event = true;
  departures++;
  asleep = 0;
  return true;
}

int model_choose_message(int oldest, int newest) {
  if (oldest == newest || model_memory_is_strong) return newest;
  if (exhaustive) {
    int older = may_depart() ? (int)decide((unsigned)(newest - oldest + 1)) : 0;
    departures += older > 0;
    return newest - older;
  }
  return next_random() % 3 != 0 ? newest : oldest + (int)(next_random() % (unsigned)(newest - oldest + 1));
}

int model_choose_thread(void) {
  int ready[MODEL_THREADS], count = 0;
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].status == MODEL_READY) ready[count++] = t;
  if (count == 0) return -1;
  return exhaustive ? choose_exhaustively(ready, count) : choose_by_lot(ready, count);
}

void model_count_step(unsigned step) {
  model_total_steps++;
  if (!by_priority) return;
  for (unsigned i = 0; i < change_count; i++)
    if (step == changes[i]) model_threads[model_self].priority = lowest--;
  if (step % 128 == 0) model_threads[model_self].priority = lowest--; // a spinning thread must not block the others
}

// MARK: replay

void model_print_replay(void) {
  if (!exhaustive) {
    printf(" --seed %llu\n", (unsigned long long)seed);
    return;
  }
  printf(" --bound %d --trail ", bound);
  for (unsigned i = 0, same; i < depth; i += same) {
    for (same = 1; i + same < depth && trail[i + same].choice == trail[i].choice;) same++;
    printf("%s%ux%u", i > 0 ? "," : "", trail[i].choice, same);
  }
  printf("\n");
}

void model_parse_trail(const char *text) {
  trail_length = 0;
  while (*text != 0) {
    char *end;
    unsigned choice = (unsigned)strtoul(text, &end, 10), times = *end == 'x' ? (unsigned)strtoul(end + 1, &end, 10) : 1;
    for (; times > 0 && trail_length < TRAIL; times--) {
      trail[trail_length].choice = (unsigned short)choice;
      trail[trail_length++].count = (unsigned short)(choice + 1);
    }
    text = *end == ',' ? end + 1 : "";
  }
}

csched_time model_clock_step(void) { return exhaustive ? 30000 : 5000; } // exhaustively, one step ends a spin
