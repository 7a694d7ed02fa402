// Includes every header of the C API.
#ifndef CSCHED_H
#define CSCHED_H

#include <CScheduler/apply.h>
#include <CScheduler/atomic.h>
#include <CScheduler/base.h>
#include <CScheduler/cancellation.h>
#include <CScheduler/clock.h>
#include <CScheduler/cond.h>
#include <CScheduler/diagnostics.h>
#include <CScheduler/dump.h>
#include <CScheduler/event.h>
#include <CScheduler/group.h>
#include <CScheduler/job.h>
#include <CScheduler/latch.h>
#include <CScheduler/limit.h>
#include <CScheduler/lock.h>
#include <CScheduler/loop.h>
#include <CScheduler/loop_fd.h>
#include <CScheduler/loop_hook.h>
#include <CScheduler/main_loop.h>
#include <CScheduler/pool.h>
#include <CScheduler/rlock.h>
#include <CScheduler/rwlock.h>
#include <CScheduler/semaphore.h>
#include <CScheduler/serial.h>
#include <CScheduler/shutdown.h>
#include <CScheduler/source.h>
#include <CScheduler/statistics.h>
#include <CScheduler/target.h>
#include <CScheduler/task.h>
#include <CScheduler/thread.h>
#include <CScheduler/timer.h>
#include <CScheduler/trace.h>
#include <CScheduler/trampoline.h>
#include <CScheduler/version.h>
#include <CScheduler/virtual.h>
#include <CScheduler/watch.h>

#endif
