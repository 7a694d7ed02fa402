// A target with threads of its own, used as a base by checks. It can be made to refuse jobs. Its threads end on
// request.
#pragma once

#include "../engine/model.h"

#include "../../../Sources/CScheduler/platform/platform.h"

#include <errno.h>

enum { WORKERS = 3 }; // at most

static struct {
  csched_target target;
  csched_lock lock;
  csched_job *first, **last;
  uint32_t changes; // futex
  bool closed, ended;
} crew;

static void announce(void) {
  csched_fetch_add_release(&crew.changes, 1u);
  csched_futex_wake_(&crew.changes, WORKERS);
}
static int deliver(csched_target *unused, csched_job *job) {
  (void)unused;
  csched_lock_lock(&crew.lock);
  bool closed = crew.closed;
  if (!closed) {
    job->next = NULL;
    *crew.last = job;
    crew.last = &job->next;
  }
  csched_lock_unlock(&crew.lock);
  if (!closed) announce();
  else csched_target_discard(job);
  return closed ? ECANCELED : 0;
}
static bool may_enter(csched_target *unused) {
  (void)unused;
  return true;
}
static bool may_help(const csched_target *unused) {
  (void)unused;
  return true;
}
static const csched_target_type crew_type = {.deliver = deliver, .may_help_ = may_help};
static const csched_target_type entered_type = {.deliver = deliver, .enter = may_enter, .may_help_ = may_help};

static void work(void *unused) {
  (void)unused;
  for (;;) {
    uint32_t seen = csched_load_acquire(&crew.changes);
    csched_lock_lock(&crew.lock);
    csched_job *job = crew.first;
    if (job != NULL && (crew.first = job->next) == NULL) crew.last = &crew.first;
    bool ended = crew.ended;
    csched_lock_unlock(&crew.lock);
    if (job != NULL) csched_target_perform(&crew.target, job);
    else if (ended) return;
    else csched_futex_wait_(&crew.changes, seen, CSCHED_FOREVER);
  }
}

static void crew_start(int workers) {
  crew.target.type = &crew_type;
  crew.lock.owner = 0;
  crew.first = NULL;
  crew.last = &crew.first;
  crew.changes = 0;
  crew.closed = crew.ended = false;
  for (int i = 0; i < workers; i++) model_spawn(work, NULL);
}

static void close_crew(bool takes_no_more) {
  csched_lock_lock(&crew.lock);
  if (takes_no_more) crew.closed = true;
  else crew.ended = true;
  csched_lock_unlock(&crew.lock);
  announce();
}
