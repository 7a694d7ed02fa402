// model --list | [--check NAME] [--schedules N] [--exhaustive N] [--first SEED] | --check NAME (--seed N | --bound B
// --trail T)
// With --memory strong each load reads the newest value, else one that C11 allows.
//
// Runs each check, or one: N schedules drawn by lot, from the seeds FIRST, FIRST + 1 and so on, and at most N
// exhaustively. No clock is read, so equal arguments give equal schedules. A failure prints how to replay it.

#define _GNU_SOURCE
#include "strategy.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

static void run_by_lot(uint64_t first, long count) {
  for (long i = 0; i < count; i++) {
    model_strategy_seed(first + (uint64_t)i);
    model_run();
    model_count_run();
  }
}

// First without a bound, by sleep sets; if that does not come to its end with half of the schedules, with 0, 1, 2 ...
// departures.
// Returns: how far it came, as text.
static const char *run_exhaustively(long most) {
  static char text[80];
  long count = 0;
  int reached = -1;
  bool done = false;
  for (int bound = -1; !done && count < most; bound++) {
    bool more = true;
    for (model_strategy_exhaustive(bound); more && count < (bound < 0 ? most / 2 : most); count++) {
      model_run();
      model_count_run();
      more = model_next_trail();
    }
    if (!more) reached = bound;
    done = !more && bound < 0;
  }
  snprintf(text, sizeof text,
           done           ? "%ld exhaustively: all"
           : reached >= 0 ? "%ld exhaustively: all with up to %d departures"
                          : "%ld exhaustively",
           count, reached);
  return text;
}

typedef struct options {
  bool lists;
  const char *check, *trail;
  long by_lot, exhaustive;
  uint64_t seed, first;
  int bound;
} options;

static options parse(int argc, char **argv) {
  options o = {.first = 1, .bound = -1};
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--list") == 0 && argc == 2) o.lists = true;
    else if (value == NULL) goto usage;
    else if (strcmp(argv[i], "--schedules") == 0) o.by_lot = atol(value);
    else if (strcmp(argv[i], "--exhaustive") == 0) o.exhaustive = atol(value);
    else if (strcmp(argv[i], "--check") == 0) o.check = value;
    else if (strcmp(argv[i], "--memory") == 0 && strcmp(value, "strong") == 0) model_memory_is_strong = true;
    else if (strcmp(argv[i], "--memory") == 0 && strcmp(value, "weak") == 0) model_memory_is_strong = false;
    else if (strcmp(argv[i], "--trail") == 0) o.trail = value;
    else if (strcmp(argv[i], "--bound") == 0) o.bound = atoi(value);
    else if (strcmp(argv[i], "--seed") == 0) o.seed = strtoull(value, NULL, 10);
    else if (strcmp(argv[i], "--first") == 0) o.first = strtoull(value, NULL, 10);
    else goto usage;
  }
  if (o.by_lot == 0 && o.exhaustive == 0) o.by_lot = 1000;
  return o;
usage:
  fprintf(stderr, "usage: model --list\n"
                  "       model [--check NAME] [--schedules N] [--exhaustive N] [--first SEED] [--memory strong|weak]\n"
                  "       model --check NAME (--seed N | --bound B --trail T)\n");
  exit(64);
}

static void run_check(const options *o) {
  if (o->seed == 0 && o->trail == NULL) {
    if (o->by_lot > 0) run_by_lot(o->first, o->by_lot);
    const char *text = o->exhaustive > 0 ? run_exhaustively(o->exhaustive) : "";
    printf("  %-72s %ld by lot%s%s\n", model_current->name, o->by_lot, o->exhaustive > 0 ? ", " : "", text);
    return;
  }
  if (o->trail != NULL) {
    model_strategy_exhaustive(o->bound);
    model_parse_trail(o->trail);
  } else {
    model_strategy_seed(o->seed);
  }
  model_run();
  model_count_run();
  model_log_print(MODEL_LOG);
  printf("  %s: this schedule holds\n", model_current->name);
}

// The hash tables of the core and of Swift depend on addresses: restarts the program without address randomisation. A
// sandbox may refuse that.
static void begin_with_fixed_addresses(char **argv) {
  int now = personality(0xffffffff);
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0 || personality((unsigned long)now | ADDR_NO_RANDOMIZE) == -1) return;
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  options o = parse(argc, argv);
  begin_with_fixed_addresses(argv);
  cpu_set_t set; // one processor: handing the turn on is then a switch, not an interrupt
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  sched_setaffinity(0, sizeof set, &set);
  int checks = 0;
  for (const model_check *const *suite = model_suites; *suite != NULL; suite++) {
    for (model_current = *suite; model_current->name != NULL; model_current++) {
      if (o.check != NULL && strcmp(o.check, model_current->name) != 0) continue;
      checks++;
      if (o.lists) {
        printf("%s\n", model_current->name);
        continue;
      }
      model_strategy_seed(0); // once for what the core keeps for good, so that each later run begins alike
      model_run();
      run_check(&o);
      fflush(stdout);
    }
  }
  if (!o.lists)
    printf("model: %d checks, %ld schedules (%ld different), %ld steps\n", checks, model_runs, model_distinct,
           model_total_steps);
  return checks == 0;
}
