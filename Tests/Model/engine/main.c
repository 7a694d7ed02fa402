// model [--check NAME] [--seconds S] [--first SEED] | --check NAME --seed N | --check NAME --bound B --trail T
//       | --exhaustive S [--check NAME]; with --memory strong each load reads the newest value, else as C11 allows
//
// Runs each check for so long: by lot, or exhaustively with ever more departures from the plain course. A failure prints how to replay it.

#define _GNU_SOURCE
#include "strategy.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Of this process alone: other work on the machine takes nothing from a check's budget.
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long run_by_lot(uint64_t first, double budget) {
  long count = 0;
  for (double end = seconds() + budget; count == 0 || seconds() < end; count++) {
    model_strategy_seed(first + (uint64_t)count);
    model_run();
    model_count_distinct();
  }
  printf("  %-72s %7ld schedules\n", model_current->name, count);
  return count;
}

// First without a bound, by sleep sets; if that does not come to its end, with 0, 1, 2 ... departures in the other half.
static long run_exhaustively(double budget) {
  long count = 0;
  int reached = -1;
  bool done = false;
  double now = seconds(), half = now + budget / 2, end = now + budget;
  for (int bound = -1; !done && seconds() < end; bound++) {
    bool more = true;
    for (model_strategy_exhaustive(bound); more && seconds() < (bound < 0 ? half : end); count++) {
      model_run();
      model_count_distinct();
      more = model_next_trail();
    }
    if (!more) reached = bound;
    done = !more && bound < 0;
  }
  char depth[40];
  snprintf(depth, sizeof depth, reached >= 0 ? "all with up to %d departures" : "not even the plain ones", reached);
  printf("  %-72s %7ld schedules: %s\n", model_current->name, count, done ? "all" : depth);
  return count;
}

typedef struct options {
  const char *check, *trail;
  double budget, exhaustive;
  uint64_t seed, first;
  int bound;
} options;

static options parse(int argc, char **argv) {
  options o = {.budget = 2, .first = 1, .bound = -1};
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (value == NULL) goto usage;
    if (strcmp(argv[i], "--seconds") == 0) o.budget = atof(value);
    else if (strcmp(argv[i], "--exhaustive") == 0) o.exhaustive = atof(value);
    else if (strcmp(argv[i], "--check") == 0) o.check = value;
    else if (strcmp(argv[i], "--memory") == 0 && strcmp(value, "strong") == 0) model_memory_is_strong = true;
    else if (strcmp(argv[i], "--memory") == 0 && strcmp(value, "weak") == 0) model_memory_is_strong = false;
    else if (strcmp(argv[i], "--trail") == 0) o.trail = value;
    else if (strcmp(argv[i], "--bound") == 0) o.bound = atoi(value);
    else if (strcmp(argv[i], "--seed") == 0) o.seed = strtoull(value, NULL, 10);
    else if (strcmp(argv[i], "--first") == 0) o.first = strtoull(value, NULL, 10);
    else goto usage;
  }
  return o;
usage:
  fprintf(stderr, "usage: model [--check NAME] [--seconds S] [--exhaustive S] [--first SEED] [--memory strong|weak]\n"
                  "       model --check NAME (--seed N | --bound B --trail T)\n");
  exit(64);
}

static long run_check(const options *o) {
  if (o->exhaustive > 0) return run_exhaustively(o->exhaustive);
  if (o->seed == 0 && o->trail == NULL) return run_by_lot(o->first, o->budget);
  if (o->trail != NULL) {
    model_strategy_exhaustive(o->bound);
    model_parse_trail(o->trail);
  } else {
    model_strategy_seed(o->seed);
  }
  model_run();
  model_log_print(MODEL_LOG);
  printf("  %s: this schedule holds\n", model_current->name);
  return 1;
}

int main(int argc, char **argv) {
  options o = parse(argc, argv);
  cpu_set_t set; // one processor: handing the turn on is then a switch, not an interrupt
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  sched_setaffinity(0, sizeof set, &set);
  int checks = 0;
  long runs = 0;
  for (const model_check *const *suite = model_suites; *suite != NULL; suite++) {
    for (model_current = *suite; model_current->name != NULL; model_current++) {
      if (o.check != NULL && strcmp(o.check, model_current->name) != 0) continue;
      model_strategy_seed(0); // once for what the core keeps for good, so that each later run begins alike
      model_run();
      runs += run_check(&o);
      fflush(stdout);
      checks++;
    }
  }
  printf("model: %d checks, %ld schedules (%ld different), %ld steps\n", checks, runs, model_distinct,
         model_total_steps);
  return checks == 0;
}
