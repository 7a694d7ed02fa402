// The log of a run's operations, which is printed for a failure.

#include "internal.h"

#include <stdio.h>
#include <string.h>

static struct {
  int thread;
  const char *what, *file;
  int line;
  const void *address;
  uint64_t value;
} entries[MODEL_LOG];
static unsigned count;

void model_log_clear(void) { count = 0; }

void model_log(const char *what, const void *address, uint64_t value, const char *file, int line) {
  unsigned i = count++ % MODEL_LOG;
  entries[i].thread = model_self;
  entries[i].what = what;
  entries[i].file = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
  entries[i].line = line;
  entries[i].address = address;
  entries[i].value = value;
  model_note_event((uint64_t)model_self << 60 ^ (uint64_t)(uintptr_t)what << 20 ^ (uint64_t)line);
}

void model_log_print(unsigned most) {
  unsigned kept = count < MODEL_LOG ? count : MODEL_LOG;
  if (kept > most) kept = most;
  for (unsigned i = count - kept; i < count; i++) {
    unsigned at = i % MODEL_LOG;
    printf("  %5u  thread %d  %-26s %p = %llx  (%s:%d)\n", i, entries[at].thread, entries[at].what, entries[at].address,
           (unsigned long long)entries[at].value, entries[at].file, entries[at].line);
  }
}
