// Builds text in a buffer without the C library, so that signal handlers can use it.
// Depends on: base.h.
#pragma once

#include <CScheduler/base.h>

struct csched_job;

/// A buffer: the text ends at `at`, the memory at `end`. Text that exceeds the memory is cut. There is no terminating
/// zero.
typedef struct csched_text {
  char *at, *end;
  const struct csched_job *first_job; ///< out, by a target's `describe_`: its first waiting job, maybe freed; or NULL
  bool is_name_only;                  ///< in, for a target's `describe_`: it omits the state, and takes no lock
} csched_text;

/// Returns: an empty text in `memory` of `size` bytes.
static inline csched_text csched_text_in_(char *memory, size_t size) {
  return (csched_text){.at = memory, .end = memory + size};
}

// Each csched_text function below adds to the end of `text`.
void csched_text_add_(csched_text *text, const char *string);
void csched_text_number_(csched_text *text, uint64_t number);      ///< in decimal
void csched_text_address_(csched_text *text, const void *address); ///< in hexadecimal, after "0x"
/// Does: adds `span` in seconds, with six decimals.
void csched_text_span_(csched_text *text, csched_time span);
/// Does: adds a space and the name in quotes; nothing for an empty name. Quotes and control characters in the name
/// become question marks.
void csched_text_name_(csched_text *text, const char *name);

/// Does: adds `kind`, then the address and the name of the target.
void csched_text_target_(csched_text *text, const char *kind, const void *target, const char *name);
/// Does: adds the text `before`, "thread", and the thread's number and name. It may open a file. Thread: any.
void csched_text_thread_(csched_text *text, const char *before, uint32_t thread);
/// Does: adds the number `count` of delayed jobs, and the time from `now` to `first`, the least deadline;
/// CSCHED_FOREVER: no deadline.
void csched_text_delayed_(csched_text *text, size_t count, csched_time first, csched_time now);

/// Does: copies `name`, cut to `size` - 1 bytes but not inside a UTF-8 character, and a terminating zero.
void csched_name_copy_(char *copy, size_t size, const char *name);
