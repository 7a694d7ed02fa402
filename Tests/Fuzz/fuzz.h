// Shared by the fuzz targets: an input that is read as operations, virtual time, and the end of a process whose model
// disagrees.
// Depends on: CScheduler.
//
// A target is a file with LLVMFuzzerTestOneInput: it reads operations from the input, does each to the library and to a
// model, and ends the process where the two differ. One thread does everything, and time is virtual: so an input has
// the same effects each time.
#pragma once

#include <CScheduler/CScheduler.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Ends the process, with a message, unless `condition` holds: REQUIRE(condition, format, ...).
#define REQUIRE(condition, ...) ((condition) ? (void)0 : fuzz_disagree(__FILE__, __LINE__, #condition, __VA_ARGS__))
void fuzz_disagree(const char *file, int line, const char *condition, const char *format, ...)
    CSCHED_PRINTF(4, 5) CSCHED_NORETURN;

/// Prints an operation while an input is replayed with FUZZ_TRACE=1: TRACE(format, ...).
#define TRACE(...) (fuzz_is_traced ? fuzz_trace(__VA_ARGS__) : (void)0)
extern bool fuzz_is_traced;
void fuzz_trace(const char *format, ...) CSCHED_PRINTF(1, 2);

// MARK: the input

/// Does: begins with the input, and sets the clock by its first bytes.
void fuzz_begin(const uint8_t *data, size_t size);
/// Returns: whether all of the input has been read.
bool fuzz_is_over(void);
/// Returns: the next byte; 0 when all have been read.
unsigned fuzz_byte(void);
static inline unsigned fuzz_below(unsigned bound) { return fuzz_byte() % bound; }

// MARK: time

/// What csched_now says. It stays below FUZZ_LATEST, so that a span can be added.
extern csched_time fuzz_now;
#define FUZZ_LATEST ((csched_time)1 << 62)

/// Returns: a span of any size, often at the edges of the wheel's slots; or CSCHED_FOREVER.
csched_time fuzz_span(void);
/// Returns: a deadline: before `now`, near the beginning of time, after `now`, or never.
csched_time fuzz_instant(csched_time now);
/// Returns: `start + span`, or CSCHED_FOREVER.
static inline csched_time fuzz_add(csched_time start, csched_time span) {
  return start + span < start ? CSCHED_FOREVER : start + span;
}
/// Does: lets time pass.
void fuzz_pass(csched_time span);

/// Called when the thread would sleep until `deadline` at the latest: lets time pass, up to what ends the sleep. A
/// target may set it, to check first that the thread does not sleep too long; in the end it calls fuzz_sleep.
extern void (*fuzz_on_sleep)(csched_time deadline);
/// Does: lets time pass until `deadline`. A sleep without an end ends the process: a wake has been lost.
void fuzz_sleep(csched_time deadline);
