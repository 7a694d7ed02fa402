// The library's version. The SONAME, cscheduler.pc, CMake's package and CHANGELOG.md follow this file.
// Depends on: no other header.
//
// Semantic versioning. A program runs with each later library of the same CSCHED_VERSION_ABI. That number is also in
// the SONAME (libcscheduler.so.1). The inline functions of these headers depend on the layout of the library's structs
// and state words. So they refer to the symbol csched_abi_1, which only a library of that layout has. A program
// compiled with the headers of one ABI does not link with the library of another.
#ifndef CSCHED_VERSION_H
#define CSCHED_VERSION_H

#define CSCHED_VERSION_MAJOR 0
#define CSCHED_VERSION_MINOR 1
#define CSCHED_VERSION_PATCH 0

/// The number of the ABI. A version that changes a struct, a state word or the meaning of a function increases this
/// number.
#define CSCHED_VERSION_ABI 1

/// The headers' version as a number that can be compared, also by #if: 1002003 is 1.2.3.
#define CSCHED_VERSION (CSCHED_VERSION_MAJOR * 1000000 + CSCHED_VERSION_MINOR * 1000 + CSCHED_VERSION_PATCH)

/// The headers' version as text: "1.2.3".
#define CSCHED_VERSION_STRING                                                                                          \
  CSCHED_TEXT(CSCHED_VERSION_MAJOR) "." CSCHED_TEXT(CSCHED_VERSION_MINOR) "." CSCHED_TEXT(CSCHED_VERSION_PATCH)

// Private: join two tokens, or make text of a token; the argument's macros are expanded first.
#define CSCHED_JOIN_(a, b) a##b
#define CSCHED_JOIN(a, b)  CSCHED_JOIN_(a, b)
#define CSCHED_TEXT_(a)    #a
#define CSCHED_TEXT(a)     CSCHED_TEXT_(a)

/// A symbol that only a library with this ABI has. Private.
#define CSCHED_ABI_SYMBOL CSCHED_JOIN(csched_abi_, CSCHED_VERSION_ABI)
extern const unsigned char CSCHED_ABI_SYMBOL __attribute__((visibility("default")));

#endif
