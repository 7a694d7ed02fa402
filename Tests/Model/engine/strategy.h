// The strategies of main.c.
#pragma once

#include "internal.h"

/// By lot: the next thread, and the store that a load reads, are drawn at each step. Priorities: PCT, of a depth of 2
/// to 4.
void model_strategy_seed(uint64_t seed);

/// Exhaustively: each run follows a trail of choices and adds to it. `departures`: how often, in a run, a thread that
/// could go on is interrupted, an old value is read, or a rare event happens; -1 without bound, and then sleep sets
/// leave out the runs that only change the order of independent steps.
void model_strategy_exhaustive(int departures);
/// The next trail. Returns: false when all have been run.
bool model_next_trail(void);
/// Sets the trail from its printed form.
void model_parse_trail(const char *text);

extern long model_runs, model_distinct, model_total_steps; // of the counted schedules; steps: of all
void model_count_run(void);                                // after a run
