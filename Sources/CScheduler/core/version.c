// The version that the library was built as, and the symbol that the inline paths of its headers need (base.h).

#include <CScheduler/base.h>

uint32_t csched_version(void) { return CSCHED_VERSION; }

const unsigned char CSCHED_ABI_SYMBOL = CSCHED_VERSION_ABI;
