#include "testing.h"

TEST("time does not run backwards") {
  csched_time last = csched_now();
  for (int i = 0; i < 10000; i++) {
    csched_time now = csched_now();
    CHECK(now >= last);
    last = now;
  }
}

TEST("an instant after another saturates, and a negative span counts as zero") {
  CHECK_EQUAL(csched_time_after(5, 7), 12);
  CHECK_EQUAL(csched_time_after(5, 0), 5);
  CHECK_EQUAL(csched_time_after(5, -7), 5);
  CHECK_EQUAL(csched_time_after(5, INT64_MIN), 5);
  CHECK(csched_time_after(CSCHED_FOREVER - 1, INT64_MAX) == CSCHED_FOREVER);
  CHECK(csched_time_after(CSCHED_FOREVER, 1) == CSCHED_FOREVER);
  CHECK(csched_time_after(0, INT64_MAX) == (csched_time)INT64_MAX);
}
