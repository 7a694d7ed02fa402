// Copies the figures of a target, which observe.c counts, to the caller's structure.
// States: each figure is a separate count
// Invariants
//   ST1  A figure contains each change that happened before the figure was read. Two figures may show different
//        instants.
// Orderings: relaxed; a count publishes no other memory.
// Assumes: a caller that needs consistent figures has waited for the work.
// Source: own design.
// Models: none. Not modelled: ST1.

#include <CScheduler/statistics.h>
#include "observe_internal.h"

int csched_statistics_begin(void) {
  csched_observe_prepare_();
  return csched_observe_begin_(CSCHED_OBSERVED_BY_STATISTICS);
}
void csched_statistics_end(void) { csched_observe_end_(CSCHED_OBSERVED_BY_STATISTICS); }

// Returns: the longest duration (ns) that the histogram counts in `step`: the inverse of step_of in observe.c.
static csched_time end_of_step(size_t step) {
  if (step < 8) return step;
  size_t doublings = step / 8 + 2; // step_of: step = (doublings - 2) * 8 + the three bits below the highest set bit
  return ((csched_time)(8 + step % 8 + 1) << (doublings - 3)) - 1;
}

// Returns: an upper bound of the percentile: `percent` per cent of the `total` durations are not longer. 0 for an empty
// histogram.
static csched_time percentile(const uint32_t counts[CSCHED_SPANS], uint64_t total, uint64_t percent) {
  uint64_t rank = (total * percent + 99) / 100, passed = 0; // rank: rounded up; passed: durations in the steps so far
  for (size_t step = 0; step < CSCHED_SPANS; step++)
    if ((passed += counts[step]) >= rank && passed > 0) return end_of_step(step);
  return 0;
}

// Returns: median, 99th percentile and maximum. The two percentiles are ends of steps, which may exceed the maximum, so
// they are limited to it.
static csched_span_statistics summary_of(const csched_spans *spans) {
  uint32_t counts[CSCHED_SPANS];
  uint64_t total = 0;
  csched_span_statistics summary = {.max = csched_load_relaxed(&spans->most)}; // ST1: includes all earlier changes
  for (size_t step = 0; step < CSCHED_SPANS; step++)
    total += counts[step] = csched_load_relaxed(&spans->counts[step]); // ST1: includes all earlier changes
  summary.p50 = percentile(counts, total, 50);
  summary.p99 = percentile(counts, total, 99);
  if (summary.p50 > summary.max) summary.p50 = summary.max;
  if (summary.p99 > summary.max) summary.p99 = summary.max;
  return summary;
}

bool csched_target_statistics(const csched_target *target, csched_statistics *statistics) { // false: no figures
  const csched_figures *figures = csched_figures_find_(target);
  *statistics = (csched_statistics){0};
  if (figures == NULL) return false;                                // no submission to the target was observed
  statistics->submitted = csched_load_relaxed(&figures->submitted); // ST1: includes all earlier changes
  statistics->run = csched_load_relaxed(&figures->run);             // ST1: includes all earlier changes
  statistics->cancelled = csched_load_relaxed(&figures->cancelled); // ST1: includes all earlier changes
  statistics->dropped = csched_load_relaxed(&figures->dropped);     // ST1: includes all earlier changes
  statistics->waiting = csched_figures_waiting_(figures);
  statistics->wakes = csched_load_relaxed(&figures->wakes);               // ST1: includes all earlier changes
  statistics->steals = csched_load_relaxed(&figures->steals);             // ST1: includes all earlier changes
  statistics->system_calls = csched_load_relaxed(&figures->system_calls); // ST1: includes all earlier changes
  statistics->latency = summary_of(&figures->waited);
  statistics->run_time = summary_of(&figures->ran);
  return true;
}
