/*
The loop of core/loop.c on the poller of core/loop_fd.c: asleep on its futex first, then, once that is open, on the poller,
or left to a host.

Modelled: the opening, against those who wake; the poller's wake, which stays until it is looked at, its alarm, and two
  sources, level or edge; the park and the look after it; what a host does: it waits for the descriptor, runs at most MAX
  of what is ready, then takes a stop; the wake that is left to it when there is more, the alarm when there is not; a
  close, of which it is told once; `ready`, between the look at the poller and the handlers; handlers that read, remove
  the other source or their own, put another in the place of their own, whose number is used again while a copy of the
  old descriptor lives, and run the loop inside.
Abstracted: the queue (queue.pml), the timers (timer.pml) and the futex (loop.pml) are one step for each operation; no
  store buffers, of which those have theirs; a host's wait is one step, as the descriptor's level holds; time stands
  still while a timer that is due has not run; a poller does not return without reason, but a host may come uncalled.
Bounds: two jobs by two threads, one timer from outside before one that is there, one stop, one close after both, two writes to the
  sources. The first sleep, on the futex, may end by a deadline. The loop is driven by a host (HOST) or by its own run.
Checks: E1 E2 E3 E4, P1, P2, P5 of the stop, P6 of the close; that a handler is called for what its own descriptor has,
  once; that a host comes for nothing only after a wake that was late, for what it has taken before the announcement, for a
  timer that is not due yet, for a source that was removed or for the copy of one. E5 is not checked, nor changes of what a source waits for.

RUN host: -DHOST -DMAX=2 -DJOBS
RUN one: -DHOST -DMAX=1 -DJOBS
RUN sources: -DHOST -DMAX=2 -DSOURCES
RUN end: -DHOST -DMAX=2 -DSTOP -DCLOSE
RUN own: -DMAX=9 -DJOBS
RUN own-sources: -DMAX=9 -DSOURCES
DEEP all: -DHOST -DMAX=1 -DJOBS -DSTOP
*/

#define FAR 2
#define FOREVER 3
#define NEITHER 2

byte jobs;
bool parked, refuses;
bool word;   /* the futex */
bool is_open;
bool closing, stopping;
byte wake_at = FAR; /* the timers' */
bool near_waits, far_waits = true;
byte clock;

/* The poller. */
bool woken;
byte armed = FOREVER;
bool is_level;
bool registered[2], edge[2]; /* what the system knows */
byte data[2];
bool copy, copy_edge; /* of a descriptor that was closed, and had the number of the second source's */

/* The loop's own. */
bool added[2], ready[2];
bool is_in_host, is_stale, knows_close;
byte depth;

/* For the checks only. */
byte ran, finished;
byte excuses, for_nothing; /* rounds without anything to do, and what they come from */
bool owed_wake; /* by the one who has found the loop parked */
bool near_ran, stop_taken, told_close;
bool owed[2]; /* collected for this source, and not told */

#define has_data(s) (registered[s] && (is_level && data[s] != 0 || edge[s]))
#define is_readable (woken || armed <= clock || has_data(0) || has_data(1) || copy_edge)
#define has_work (jobs != 0 || stopping || closing || ready[0] || ready[1])

inline wake() {
  opened = is_open; /* E1 */
  if
#ifdef MUTANT_WAKE_GOES_TO_THE_FUTEX
  :: true -> word = true
#else
  :: opened -> d_step { woken = true; owed_wake = false } /* P2, E2 */
  :: else -> d_step { word = true; owed_wake = false }
#endif
  fi;
  opened = false
}

inline announce() {
  d_step { found = parked; owed_wake = owed_wake || parked; parked = false } /* P1 */
  if
  :: found -> found = false; wake()
  :: else
  fi
}

proctype submitter() {
  bool found, opened;

  d_step {
    found = parked;
    owed_wake = owed_wake || parked;
    parked = false;
    jobs = (refuses -> jobs : jobs + 1);
    ran = (refuses -> ran + 1 : ran) /* it is dropped */
  }
  if
  :: found -> found = false; wake() /* P2 */
  :: else
  fi;
  finished++
}

proctype timer_submitter() {
  bool found, opened;

  d_step { near_waits = true; excuses++; wake_at = (wake_at > 1 -> 1 : wake_at) }
#ifndef MUTANT_TIMER_NOT_ANNOUNCED
  announce(); /* P1 */
#endif
  finished++
}

proctype stopper() {
  bool found, opened;

  d_step { stopping = true; excuses++ }
#ifndef MUTANT_STOP_NOT_ANNOUNCED /* run: end */
  announce(); /* P1 */
#endif
  finished++
}

proctype closer() {
  bool found, opened;

  stop_taken && near_ran; /* or the close could stand in for them */
  d_step { closing = true; excuses++ }
  d_step { found = parked; owed_wake = owed_wake || parked; parked = false; refuses = true } /* P6 */
  if
  :: found -> found = false; wake() /* P2 */
  :: else
  fi;
  finished++
}

proctype writer(byte s) {
  d_step { data[s] = 1; edge[s] = registered[s] }
  if
  :: d_step { copy -> copy_edge = true; excuses++ }
  :: skip
  fi;
  finished++
}

inline remove(s) { /* E3 */
  d_step {
    excuses = (has_data(s) -> excuses + 1 : excuses); /* what was to come is nothing now */
    registered[s] = false;
    edge[s] = false;
    added[s] = false;
#ifndef MUTANT_REMOVED_STAYS_READY /* run: sources */
    ready[s] = false;
#endif
    owed[s] = false
  }
}

inline collect() {
  d_step {
#ifndef MUTANT_WAKE_IS_NOT_OVER
    woken = false; /* E2 */
#endif
    armed = (armed <= clock -> FOREVER : armed);
    if
    :: has_data(0) -> ready[0] = true; owed[0] = true; edge[0] = false
    :: else
    fi;
    if
    :: has_data(1) -> ready[1] = true; owed[1] = true; edge[1] = false
    :: else
    fi;
#ifdef MUTANT_SERIAL_IS_NOT_LOOKED_AT /* run: sources */
    ready[1] = ready[1] || (copy_edge && added[1]);
#endif
    copy_edge = false; /* E3 */
    is_stale = false
  }
}

inline call(s) {
  d_step {
#ifndef MUTANT_TOLD_AND_STAYS /* run: sources */
    ready[s] = false; /* E4 */
#endif
    assert(added[s]); /* E3 */
    assert(owed[s]); /* E3, E4 */
    owed[s] = false;
    did = true
  }
  data[s] = 0; /* it reads */
  if
  :: added[1 - s] && s == 0 -> remove(1)
  :: s == 1 -> remove(1)
  :: s == 1 && !copy -> /* closed without a word; another has its number */
    remove(1);
    d_step { added[1] = true; registered[1] = true; copy = true }
  :: depth == 1 -> /* it runs the loop inside */
    d_step { depth = 2; outer_left = left; left = 1 }
  :: skip
  fi
}

/* Runs the next of what is there, if there is any: sets `found`. */
inline run_next() {
  found = true;
  if
  :: d_step { near_waits && clock >= 1 ->
       near_waits = false; near_ran = true; did = true; wake_at = (far_waits -> FAR : FOREVER)
     }
  :: d_step { !near_waits && far_waits && clock >= FAR -> far_waits = false; did = true; wake_at = FOREVER }
  :: ready[0] -> call(0)
  :: !ready[0] && ready[1] -> call(1)
  :: jobs != 0 && !ready[0] && !ready[1] ->
    d_step { assert(!parked && !is_in_host); jobs--; ran++; did = true }
  :: else -> found = false
  fi
}

inline close_sources() {
  if
  :: closing && (added[0] || added[1]) -> remove(0); remove(1)
  :: else
  fi
}

inline enter() {
#ifndef MUTANT_PARK_IN_HOST_IS_NOT_TAKEN_BACK
  d_step {
    parked = false;
    is_stale = is_stale || is_in_host;
    is_in_host = false;
    excuses = (owed_wake -> excuses + 1 : excuses); /* it will come late */
    owed_wake = false
  };
#endif
  d_step { assert(depth == 0); depth = 1 }
}

inline park() {
  d_step {
    found = (jobs == 0 && !refuses);
    parked = found /* P1 */
  }
}

inline leave() {
  d_step { assert(depth == 1); depth = 0 };
#ifdef HOST
#if !defined(MUTANT_SERVED_WAKE_STAYS) && !defined(MUTANT_SETTLES_AFTER_PARK)
  if
  :: is_stale -> collect() /* E2 */
  :: else
  fi;
#endif
#ifdef MUTANT_NOT_PARKED_IN_HOST
  found = (jobs == 0 && !refuses);
#else
  park();
#endif
  is_in_host = found;
#ifdef MUTANT_SETTLES_AFTER_PARK
  collect();
#endif
  d_step {
#ifdef MUTANT_NO_LOOK_AFTER_PARK /* run: end */
    found = (found || knows_close && jobs == 0);
#else
    found = (found -> !has_work : knows_close && jobs == 0); /* P1 */
#endif
    is_stale = !found;
#ifndef MUTANT_TOLD_OF_THE_CLOSE_FOR_EVER /* run: end */
    knows_close = closing
#endif
  }
  if
  :: found -> found = false;
#ifndef MUTANT_HOST_GETS_NO_ALARM
    armed = wake_at /* E2 */
#endif
#ifndef MUTANT_REST_IS_NOT_ANNOUNCED
  :: else -> woken = true /* E2 */
#else
  :: else
#endif
  fi
#endif
}

inline run_ready(max) {
  enter();
  left = max;
  do
  :: left == 0 || !found_any ->
     if
     :: depth == 2 -> /* the inner run ends */
       d_step { depth = 1; left = outer_left - 1; outer_left = 0; found_any = true }
     :: else -> break
     fi
  :: else ->
     close_sources();
     was_inside = (depth == 2);
     run_next();
     if
     :: !found ->
       collect();
       if
       :: ready[0] -> found = true; call(0)
       :: !ready[0] && ready[1] -> found = true; call(1)
       :: else
       fi
     :: else
     fi;
     if
     :: found && (was_inside || depth == 1) -> left--
     :: !found -> found_any = false
     :: else
     fi;
     found = false;
     was_inside = false
  od;
  found_any = true;
  left = 0;
  leave()
}

/* As csched_loop_run_until(loop, 0): it only says what has come. */
inline look_at_end() {
  enter();
  if
  :: closing ->
    close_sources();
    refuses = true;
    did = !told_close;
    told_close = true;
    far_waits = false;
    wake_at = FOREVER
  :: !closing && stopping -> stopping = false; did = true; stop_taken = true /* P5 */
  :: else
  fi;
  leave()
}

inline sleep_on_futex() {
  word = false; /* P2 */
  park();
  if
  :: found ->
    if
    :: !has_work ->
      if
      :: word
      :: true /* its deadline */
      fi
    :: else
    fi
  :: else
  fi;
  d_step { parked = false; found = false }
}

inline sleep_on_poller() {
  park();
  if
  :: found ->
    if
    :: !has_work ->
#ifndef MUTANT_SLEEPS_WITHOUT_ALARM /* run: own */
      armed = wake_at; /* E2 */
#endif
end_asleep:
      is_readable;
      d_step { collect() }
    :: else
    fi
  :: else
  fi;
  d_step { parked = false; found = false }
}

inline count_round() {
  d_step {
    for_nothing = (did -> for_nothing : for_nothing + 1);
    assert(for_nothing <= excuses); /* E2 */
    did = false
  }
}

proctype loop() {
  byte left, outer_left;
  bool found, did, found_any = true, was_inside;

  if
  :: sleep_on_futex()
  :: skip
  fi;
  d_step {
#ifndef MUTANT_OPENED_AFTER_PARK
    is_open = true; /* E1 */
#endif
    added[0] = true;
    added[1] = true;
    registered[0] = true;
    registered[1] = true;
    edge[0] = (data[0] != 0);
    edge[1] = (data[1] != 0)
  }
#ifdef HOST
  run_ready(0); /* csched_loop_fd */
  is_open = true;
  do
  :: true ->
end:
     is_readable; /* the host waits */
     run_ready(MAX);
     look_at_end();
     count_round()
  od
#else
  depth = 1;
  do
  :: true ->
     run_next();
     if
     :: depth == 2 -> depth = 1 /* a run inside, of what it finds or not, is none of the checks here */
     :: else
     fi;
     if
     :: found -> found = false; did = false
     :: else -> sleep_on_poller()
     fi
  od
#endif
}

proctype time() {
end:
  do
  :: d_step { clock == 0 -> clock = 1 }
  :: d_step { clock == 1 && !near_waits -> clock = 2 }
  od
}

init {
  byte users = 1;

  atomic {
    run loop();
    run time();
#ifdef SOURCES
    d_step { finished = 1; near_ran = true; far_waits = false; wake_at = FOREVER } /* no timers */
#else
    run timer_submitter();
#endif
#ifdef JOBS
    users = users + 2;
    run submitter();
    run submitter();
#endif
#ifdef SOURCES
    users = users + 2;
    if
    :: is_level = true
    :: skip
    fi;
    run writer(0);
    run writer(1);
#endif
#ifdef STOP
    users++;
    run stopper();
#endif
#ifdef CLOSE
    users++;
    run closer();
#endif
  }
  /* Nothing is left, and nobody comes any more. E1, E2, P1 */
  finished == users && jobs == 0 && near_ran && !far_waits && !stopping && closing == told_close;
  !is_readable && (data[0] == 0 || !added[0]) && (data[1] == 0 || !added[1]);
#ifdef JOBS
  assert(ran == 2) /* P6 */
#endif
}
