// platform_clocks.h on simulated time: two clocks that are ahead of the monotonic one, by as much as a check says, and
// their alarms.

#include "internal.h"

#include "../../../Sources/CScheduler/platform/platform_clocks.h"

#include <string.h>

void __tsan_read4(void *address);
void __tsan_write4(void *address);

enum { ALARMS = 2, FIRST_FD = 1000 };

static csched_time ahead[3]; // of the monotonic clock
static csched_time most[3];  // that they have read
static struct {
  bool is_open;
  csched_poller *poller;
  uint64_t tag;
  csched_time deadline; // FOREVER once it has rung: an edge
} alarms[ALARMS];

void model_reset_clocks(void) {
  memset(alarms, 0, sizeof alarms);
  memset(most, 0, sizeof most);
  ahead[CSCHED_OS_BOOT] = 5000;
  ahead[CSCHED_OS_WALL] = (csched_time)1 << 50;
}

csched_time csched_os_clock_now_(int clock) {
  model_step(MODEL_ANYTHING, NULL, "other clock", __FILE__, __LINE__);
  model_clock += model_clock_step();
  return model_clock + ahead[clock];
}

static bool is_due(int i) {
  return alarms[i].deadline != CSCHED_FOREVER && alarms[i].deadline <= model_clock + ahead[i + 1];
}

bool model_rings(const csched_poller *poller) {
  for (int i = 0; i < ALARMS; i++)
    if (alarms[i].poller == poller && is_due(i)) return true;
  return false;
}

csched_time model_rings_at(const csched_poller *poller) {
  csched_time first = CSCHED_FOREVER;
  for (int i = 0; i < ALARMS; i++) {
    if (alarms[i].poller != poller || alarms[i].deadline == CSCHED_FOREVER) continue;
    csched_time at = is_due(i) ? model_clock : alarms[i].deadline - ahead[i + 1];
    if (at < first) first = at;
  }
  return first;
}

int model_take_rings(const csched_poller *poller, csched_poller_event *events, int room) {
  int count = 0;
  for (int i = 0; i < ALARMS && count < room; i++) {
    if (alarms[i].poller != poller || (!is_due(i) && !model_chance(16))) continue; // or it rings for nothing
    if (is_due(i)) alarms[i].deadline = CSCHED_FOREVER;
    events[count++] = (csched_poller_event){alarms[i].tag, CSCHED_POLLER_READ};
  }
  return count;
}

// Wakes the sleepers of each poller, or sets the time at which they wake.
static void tell_sleepers(void) {
  for (int t = 0; t < model_thread_count; t++) {
    model_thread *each = &model_threads[t];
    for (int i = 0; i < ALARMS && each->status == MODEL_BLOCKED; i++) {
      csched_poller *poller = alarms[i].poller;
      if (poller == NULL || each->waits_for != poller) continue;
      csched_time at = model_rings_at(poller);
      each->deadline = at < poller->armed ? at : poller->armed;
      if (!model_rings(poller)) continue;
      each->status = MODEL_READY;
      each->was_woken = true;
    }
  }
}

csched_time model_most(csched_clock clock) {
  csched_time now = model_clock + ahead[clock];
  if (most[clock] < now) most[clock] = now;
  return most[clock];
}

void model_set_clock(csched_clock clock, int64_t by) {
  model_step(MODEL_ANYTHING, NULL, "set a clock", __FILE__, __LINE__);
  model_most(clock);
  ahead[clock] += (csched_time)by;
  model_log("clock ahead by", &ahead[clock], ahead[clock], __FILE__, __LINE__);
  tell_sleepers();
}

int csched_alarm_open_(csched_alarm *alarm, int clock) {
  int i = clock - CSCHED_OS_BOOT;
  if (alarms[i].is_open) model_fail("a second alarm for a clock", __FILE__, __LINE__);
  alarms[i].is_open = true;
  alarms[i].deadline = CSCHED_FOREVER;
  __tsan_write4(&alarm->fd); // as the port would
  *alarm = (csched_alarm){.fd = FIRST_FD + i, .clock = clock};
  return 0;
}

void csched_alarm_close_(const csched_alarm *alarm) { memset(&alarms[alarm->fd - FIRST_FD], 0, sizeof alarms[0]); }

void model_attach_alarm(csched_poller *poller, int fd, uint64_t tag) {
  if (fd < FIRST_FD) return;
  alarms[fd - FIRST_FD].poller = poller;
  alarms[fd - FIRST_FD].tag = tag;
}

void csched_alarm_set_(const csched_alarm *alarm, csched_time deadline) {
  model_step(MODEL_ANYTHING, NULL, "alarm set", __FILE__, __LINE__);
  __tsan_read4((void *)&alarm->fd);
  alarms[alarm->fd - FIRST_FD].deadline = deadline;
  model_log("alarm set to", alarm, deadline, __FILE__, __LINE__);
  tell_sleepers();
}
