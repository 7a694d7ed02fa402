// A node: the smallest unit of work, two words.
// Depends on: job.h. For the Swift module.
#pragma once

#include <CScheduler/job.h>

typedef struct csched_node csched_node;

/// The functions of a kind of node. `drop` is called instead of `run` if the node will not run: see csched_node.
typedef struct csched_node_type {
  void (*run)(csched_node *node);
  void (*drop)(csched_node *node, csched_drop_reason reason);
  uintptr_t kind; ///< CSCHED_NODE, which is no address of a function: so a queue distinguishes nodes from jobs
} csched_node_type;

enum { CSCHED_NODE = 1 };

/// The smallest unit of work. A node cannot be cancelled or waited for, and it reports no outcome: use a job (job.h)
/// for that. Jobs begin with the same two fields. Set `type`, and submit the node with csched_target_submit_node.
/// `next` is private.
///
/// Each submission ends in exactly one call: `run` or `drop`. From the start of that call the callee owns the memory:
/// it may free the node or submit it again, also inside the call. A target that was stopped calls `drop` with
/// CSCHED_DROP_STOPPED. A target that accepts no more work calls `drop` during the submission, with
/// CSCHED_DROP_REFUSED. `run` may be unwound by an exception or longjmp, as a job's `run` may (job.h).
struct csched_node {
  csched_node *next;
  const csched_node_type *type;
};

CSCHED_STATIC_ASSERT(offsetof(csched_job, type) == offsetof(csched_node, type) &&
                         offsetof(csched_job_type, release) == offsetof(csched_node_type, kind),
                     "a queue carries both, and tells them apart by what their types have in the third place");

/// Does: submits `node`, to run after the work that this thread has submitted before. Returns: 0; ECANCELED when the
/// target or one of its bases accepts no more work, after `drop` was called. Requires: `node` is in no queue, else work
/// is lost. Thread: as csched_target_submit.
int csched_target_submit_node(struct csched_target *target, csched_node *node);
