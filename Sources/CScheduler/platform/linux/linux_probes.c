#if defined(__linux__) &&                                                                                              \
    __has_include(<sys/sdt.h>) // Static probes, which cost nothing until somebody attaches: see platform.h.
#include "../platform.h"

// Of each probe the note has the address of a word that the kernel counts the attached programs in: the low half of this one. It lies where the
// file has room for it, by which the kernel finds it.
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
