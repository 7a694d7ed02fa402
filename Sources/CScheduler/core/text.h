// Text that grows in a buffer, without the C library: also for a signal handler.
// Depends on: base.h.
#pragma once

#include <CScheduler/base.h>

/// What has been written ends at `at`; from `end` on nothing is written, and what is too long is cut.
typedef struct csched_text {
  char *at, *end;
} csched_text;

void csched_text_add_(csched_text *text, const char *string);
void csched_text_number_(csched_text *text, uint64_t number);
void csched_text_address_(csched_text *text, const void *address);
/// Does: adds the span as seconds, to the microsecond.
void csched_text_span_(csched_text *text, csched_time span);
/// Does: adds the name in quotes, and nothing when it is empty. What could end the line or the quotes becomes a question mark.
void csched_text_name_(csched_text *text, const char *name);

/// Does: copies `name`, cut at `size` - 1 bytes, not inside a character of UTF-8.
void csched_name_copy_(char *copy, size_t size, const char *name);
