// The version of the library as built, and the symbol that the inline functions of its headers refer to (base.h).

#include <CScheduler/base.h>

uint32_t csched_version(void) { return CSCHED_VERSION; }

const unsigned char CSCHED_ABI_SYMBOL = CSCHED_VERSION_ABI;
