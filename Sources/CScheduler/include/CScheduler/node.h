// The smallest unit of work: two words.
// Depends on: target.h.
#ifndef CSCHED_NODE_H
#define CSCHED_NODE_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_node csched_node;

/// What a kind of node does: see csched_node.
typedef struct csched_node_type {
  void (*run)(csched_node *node);
  void (*drop)(csched_node *node, csched_drop_reason reason);
  uintptr_t kind; ///< CSCHED_NODE
} csched_node_type;

enum { CSCHED_NODE = 1 };

/// The smallest unit of work, two words, for whom they are enough: nobody cancels it, waits for it, or asks what became of it. All that a
/// queue carries begins with these two. Set `type` and submit it (csched_target_submit_node); `next` is private.
///
/// Each submission ends in exactly one of `run` and `drop`. From the call on the memory is the callee's: to be freed or submitted again,
/// also inside of it. `drop` is called in place of `run` by what was stopped, or takes no more: CSCHED_DROP_STOPPED, or during the
/// submission CSCHED_DROP_REFUSED. A `run` may be left by an exception or by longjmp as that of a job may.
struct csched_node {
  csched_node *next;
  const csched_node_type *type;
};

CSCHED_STATIC_ASSERT(offsetof(csched_job, type) == offsetof(csched_node, type) &&
                         offsetof(csched_job_type, release) == offsetof(csched_node_type, kind),
                     "a queue carries both, and tells them apart by what their types have in the third place");

/// Does: submits `node`, to run after what the same thread has submitted before. Returns: 0; ECANCELED after its `drop`, because the target,
/// or one of its bases, takes no more. Requires: it is in no queue; who submits it twice loses work. Thread: as csched_target_submit.
int csched_target_submit_node(csched_target *target, csched_node *node);

CSCHED_END_DECLS

#endif
