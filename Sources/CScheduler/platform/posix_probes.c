#if !defined(__linux__) || !__has_include(<sys/sdt.h>) // Empty probe functions, for systems without <sys/sdt.h>.
#include "platform.h"

uint32_t csched_observed_; // the observers in use; no probe program counts itself here

void csched_os_probe_submit_(const void *target, const void *job, uintptr_t code) {
  (void)target, (void)job, (void)code;
}
void csched_os_probe_run_(const void *job, uintptr_t code) { (void)job, (void)code; }
void csched_os_probe_ran_(const void *job, bool has_run) { (void)job, (void)has_run; }
void csched_os_probe_drop_(const void *job, int reason) { (void)job, (void)reason; }
#endif
