// Whatever was written to a descriptor, or to a file, as text.
// Depends on: testing.h.
#pragma once

#include "testing.h"

/// The written text, in memory. Its descriptor is a file without a name.
typedef struct output {
  int fd;
  char *text;
} output;

output output_open(void);
const char *output_read(output *output);
void output_empty(output *output);
void output_close(output *output);

/// Returns: whether a line that has `subject` says `words`.
bool output_says(const char *text, const char *subject, const char *words);
/// Returns: how often `words` are in it.
int output_count(const char *text, const char *words);
