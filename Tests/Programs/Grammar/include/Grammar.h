// The grammar of programs by lot: which programs there are. programs.c runs them over the C API, Swift/ over the Swift
// API.
//
// A program is a world of targets (nodes) and actors. Actors are threads with steps; a step that submits work has steps
// of its own, which the work does. Each step happens once at most. Steps can be left out, with all that they contain:
// Tools/programs reduces a failure so.
//
// A wait never closes a cycle: each wait is for nodes with lower numbers than all exclusive nodes that the waiting work
// holds, and the base of a node has a lower number than the node. So a program that does not end is a defect.
#ifndef PROGRAMS_GRAMMAR_H
#define PROGRAMS_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>

enum { NODES = 8, ACTORS = 3, STEPS = 48, DEPTH = 3, NONE = -1 };

typedef enum program_node_kind { THREAD, POOL, LOOP, INLINE, SERIAL, LIMIT, BARRIER, NODE_KINDS } program_node_kind;

typedef struct program_node {
  program_node_kind kind;
  int base;              // of a queue, a limit or barriers; NONE: a root
  int most;              // of a limit; workers of a pool
  bool is_hard, is_used; // is_hard: the pool's threads are limited to its workers
  bool is_suspended_somewhere;
} program_node;

typedef enum program_step_kind {
  SUBMIT,
  DELAY,
  SYNC,
  CANCEL,
  CANCEL_AND_WAIT,
  SLEEP,
  LOCK, // `amount` % PROGRAM_LOCK_KINDS: which
  SUSPEND,
  GROUP,
  GROUP_SOON,
  FORKS,
  APPLY,
  EXIT,
  STOP,
  FORK,
  FAR,    // a delayed action that is due never, or in centuries, and is cancelled
  MAKE,   // new objects of all kinds, which are used and ended
  MANY,   // in C, on what runs its work at once: as many jobs as would fill a stack
  LAST,   // in C: a thread that syncs with the queue in its last destructors
  READ,   // in C, on a pool: a job that blocks in the system until a job behind it has run, or was dropped
  MISUSE, // in C: a misuse in a child, which stops the child with a message
  C_STEP_KINDS,
  // Of the Swift API. Steps of a task are steps of async code.
  CAPTURE = C_STEP_KINDS, // an action with a captured object, whose end does the steps
  PERIODIC,               // an action that disposes itself after some ticks
  TASK,                   // a task, on the node or on Swift's own executor
  PERFORM,                // in a task: awaits the steps on the node
  ASYNC_SLEEP,            // in a task: on the node
  ASYNC_LOCK,             // in a task
  ASYNC_GROUP,            // in a task
  CANCEL_TASK,            // an earlier one beside
  HANDLER,                // in a task: a cancellation handler that submits to the node, or syncs with it
  BURST,                  // many actions
  CONTEXT,                // an action with a context, through which it schedules
  EVENT,                  // a merging event, which is disposed and waited for
  ASYNC_UNIT,             // in a task: waits for a semaphore that an action on the node signals
  TIMEOUT,                // in a task: the steps, until a timeout
  SOURCES,                // of a thread: two for a socket, which is closed, or becomes another file before
  SIGNAL,                 // of a thread: a source for a signal, which is sent
  PROCESS,                // of a thread: sources for the end of a process, one after the other
  SWIFT_STEP_KINDS
} program_step_kind;

enum {
  PROGRAM_LOCK_PLAIN,
  PROGRAM_LOCK_RECURSIVE,
  PROGRAM_LOCK_READ,
  PROGRAM_LOCK_WRITE,
  PROGRAM_LOCK_UNIT,      // a semaphore's
  PROGRAM_LOCK_CONDITION, // a flag, and a condition for its change
  PROGRAM_LOCK_KINDS
};

typedef struct program_step {
  program_step_kind kind;
  int node, amount, other; // amount: microseconds; a policy. other: the step that a cancel is for
  int parent, first,
      next;    // parent: a step, or -2 - the actor; first: of its own steps; next: the next step of `parent`
  bool is_out; // left out
} program_step;

typedef struct program {
  program_node nodes[NODES];
  program_step steps[STEPS];
  int node_count, step_count, actor_count, actor_first[ACTORS];
  bool is_observed; // the statistics are on
  bool is_sampled;  // in C: long jobs are reported, with their stacks, and some threads have the least stack
} program;

/// What the program is for. UNSHARED: the Swift API, without the shared pool. VIRTUAL: the Swift API in virtual time;
/// the actors are tasks, and node 0 is the scheduler of that time, which all others are on.
typedef enum program_api {
  PROGRAM_OF_C,
  PROGRAM_OF_SWIFT,
  PROGRAM_OF_SWIFT_UNSHARED,
  PROGRAM_OF_SWIFT_VIRTUAL
} program_api;

/// Does: makes the program of a seed, without the steps of `without` ("3,17"; NULL: with all). Returns: the program,
/// which stays as it is. Requires: it is called once.
const program *make_program(uint64_t seed, program_api api, const char *without);
void print_program(void);

const program_node *program_node_at(int number);
const program_step *program_step_at(int number);
/// Returns: the first step of an actor; NONE: it has none.
int program_first_of(int actor);
/// Returns: the root that node `number` is on.
int program_root_of(int number);
/// Returns: whether at most one job at a time runs on the node.
bool program_is_exclusive(int number);
/// Does: forks a child, which calls `child`. Returns: the status with which it has ended; -1: no child.
int program_fork(void (*child)(void));
/// Returns: whether this is a child of program_fork, in which what the parent has counted is the parent's.
bool program_is_child(void);

#endif
