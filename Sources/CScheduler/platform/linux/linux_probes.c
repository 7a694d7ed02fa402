#if defined(__linux__) && __has_include(<sys/sdt.h>) // Platform layer for Linux: static probes. See platform.h.
#include "../platform.h"

// Each probe's ELF note names a semaphore: a 16-bit word in which the kernel counts attached programs. Here all probes
// share the low half of csched_observed_. The kernel finds the word by its offset in the file, so the word is in a
// section that the file contains, not in .bss.
#define cscheduler_submit_semaphore csched_observed_
#define cscheduler_run_semaphore    csched_observed_
#define cscheduler_ran_semaphore    csched_observed_
#define cscheduler_drop_semaphore   csched_observed_
#define _SDT_HAS_SEMAPHORES         1
#include <sys/sdt.h>

__attribute__((section(".probes"))) uint32_t csched_observed_ = 0;

void csched_os_probe_submit_(const void *target, const void *job, uintptr_t code) {
  STAP_PROBE3(cscheduler, submit, target, job, code);
}
void csched_os_probe_run_(const void *job, uintptr_t code) { STAP_PROBE2(cscheduler, run, job, code); }
void csched_os_probe_ran_(const void *job, bool has_run) { STAP_PROBE2(cscheduler, ran, job, has_run); }
void csched_os_probe_drop_(const void *job, int reason) { STAP_PROBE2(cscheduler, drop, job, reason); }
#endif
