// Shared by tests of traces: a file in a folder of its own, and its contents.
#pragma once

#include "output_testing.h"

typedef struct trace_path {
  char folder[64], file[96];
} trace_path;
trace_path make_path(void);
void remove_path(const trace_path *path);

/// Returns: the whole file, to be freed.
char *read_trace(const char *path);

/// What became of submissions, by number.
enum { TRACED = 1 << 17 };
typedef struct traced {
  uint8_t submitted[TRACED], arrived[TRACED], run[TRACED], given_up[TRACED];
  int submissions, runs;
} traced;
traced *look_at_trace(const char *text); ///< to be freed
/// Does: checks that each run has one submission and one arrow, and each submission at most one end; with `all` exactly
/// one.
void check_trace_(check_place here, const traced *traced, bool all);
#define CHECK_TRACE(traced, all) check_trace_(HERE, traced, all)

/// Returns: how many events are said to be lost: on a busy machine some may be. -1: it is not said.
int lost_in(const char *text);

/// Returns: whether `text` is JSON, and UTF-8.
bool is_json(const char *text);
