/*
The loop of core/loop.c: how it sleeps, and how its runs end.

Modelled: an outer run and the one that a job of it begins inside (the inner has an activation; the outer has too, but
  in `stop` and `stops`); their stop words, the stop of the innermost, an earlier timer, a close; each is written
  first, then announced by a notify. Store buffers: of each stop word until its own notify or by itself; of the timer's
  `earliest` and the unlock behind it; of the loop's `stopping = 0`, which the loop itself sees at once. The wake word
  and its futex.
Abstracted: the queue (queue.pml) is one word: NULL, PARKED, a job, closed; notify, push, park and unpark are one step
  each; time stands still while a timer that is due has not run, so that a missed wake is a deadlock; the spin before a
  sleep; a close drops what is left; the timers' tree is two timers, its lock (lock.pml) a plain one; a futex does not
  return without reason; the memory is TSO.
Bounds: two runs, one job, one new timer (and a later one that is there already), one stop for each activation, the
  inner with a deadline or without, and in `stop` and `stops` two stops of the innermost, the second not before the
  inner has ended. The outer is stopped at any moment, or (chosen at the start) not before the earlier timer has run.
Checks: P1 P2 P5; of P4 that a timer is taken once; of P6 only that a close ends both runs. A lost stop or wake is a
  deadlock.

RUN own: -DOUTER_STOP -DINNER_STOP -DTIMER
RUN stop: -DLOOP_STOP -DINNER_STOP
RUN stops: -DLOOP_STOP
RUN close: -DCLOSE -DINNER_STOP -DTIMER
DEEP all: -DCLOSE -DOUTER_STOP -DINNER_STOP -DTIMER -DLOOP_STOP
*/

#define NOTHING 0
#define PARKED 1
#define JOB 2
#define CLOSED 3
#define FOREVER 3 /* the early timer's deadline is 1, the late one's 2 */

byte head;
byte wake_word;
bool asleep;
bool stopped[2]; /* the outer's, the inner's */
bool stopping;
bool closing;
byte earliest = 2;
bool timers_locked;
bool early_in_tree, late_in_tree = true;
byte clock;

bool stop_buffered[2];    /* `stopped = 1`, in its stopper's store buffer */
bool stopping_buffered;   /* `stopping = 1`, likewise */
byte earliest_buffered;   /* 2: `earliest`, then the unlock; 1: the unlock */
bool clear_buffered;      /* the loop's `stopping = 0` */
bool inner_end_buffered;  /* what the loop's thread tells others after the inner run, behind that */
bool inner_ended;

/* For the checks only. */
bool late_stop;     /* the outer is stopped after the early timer has run */
bool asked[2];      /* a stop of this activation has been asked for */
byte stops_asked;   /* of the innermost */
byte stops_taken;
bool early_ran, outer_ended;

inline wake() {
#ifdef MUTANT_WOKEN_BEFORE_WORD
  asleep = false;
  wake_word = 1
#else
#ifndef MUTANT_WAKE_NOT_WRITTEN
  wake_word = 1; /* P2 */
#endif
  asleep = false
#endif
}

/* Store buffers, by number: 0 and 1 the stop words, then these. */
#define STOPPING 2
#define EARLIEST 3
#define EMPTY 4

inline drain(which) {
  if
  :: which < STOPPING && stop_buffered[which % 2] -> stopped[which % 2] = true; stop_buffered[which % 2] = false
  :: which == STOPPING && stopping_buffered -> stopping = true; stopping_buffered = false
  :: which == EARLIEST && earliest_buffered != 0 ->
    earliest = (earliest_buffered == 2 -> 1 : earliest);
    earliest_buffered = 0;
    timers_locked = false
  :: else
  fi
}

inline drain_clear() {
  if
  :: clear_buffered -> stopping = false; clear_buffered = false
  :: else
  fi
}

/* P1, P2. The caller's store buffer is `which`. */
inline announce(which) {
  d_step {
    parked = (head == PARKED);
#ifdef MUTANT_NOTIFY_ONLY_LOOKS
    if
    :: parked -> drain(which)
    :: else
    fi;
#else
    drain(which);
#endif
    if
    :: parked -> head = NOTHING
    :: else
    fi
  }
  if
  :: parked -> wake()
  :: else
  fi
}

proctype activation_stopper(byte i) {
  bool parked;

  i == 1 || !late_stop || early_ran || outer_ended;
#ifdef MUTANT_STOP_ENDS_WHICHEVER
  stopping_buffered = true;
  announce(STOPPING)
#else
#ifdef MUTANT_ANNOUNCED_BEFORE_STOP
  announce(EMPTY);
#endif
  d_step { asked[i] = true; stop_buffered[i] = true } /* P5 */
#if !defined(MUTANT_ANNOUNCED_BEFORE_STOP) && !defined(MUTANT_STOP_NOT_ANNOUNCED)
  announce(i) /* P1 */
#endif
#endif
}

proctype loop_stopper() {
  bool parked;
  byte count;

  do
  :: count < 2 ->
    count == 0 || inner_ended || outer_ended;
    d_step { stops_asked++; stopping_buffered = true; count++ } /* P5 */
    announce(STOPPING) /* P1 */
  :: else -> break
  od
}

proctype pusher() {
  bool parked;

  d_step {
    parked = (head == PARKED);
    if
    :: head != CLOSED -> head = JOB
    :: else
    fi
  }
  if
  :: parked -> wake() /* P2 */
  :: else
  fi
}

proctype timer_submitter() {
  bool parked;

  d_step { !timers_locked -> timers_locked = true }
  d_step { early_in_tree = true; earliest_buffered = 2 }
#ifndef MUTANT_TIMER_NOT_ANNOUNCED
  announce(EARLIEST) /* P1 */
#endif
}

proctype closer() {
  bool parked;

  !late_stop || early_ran || outer_ended;
  closing = true; /* P6: a compare-and-exchange */
  d_step { parked = (head == PARKED); head = CLOSED } /* P6; a job that is dropped */
#ifdef MUTANT_CLOSE_WAKES_NOBODY /* run: close */
  skip
#else
  if
  :: parked -> wake() /* P2 */
  :: else
  fi
#endif
}

/* A look at what can end the run: sets `by` and leaves it 0 for nothing. P5 */
#define BY_OWN 1
#define BY_STOPPING 2

inline look_at_stops() {
  by = 0;
  if
#ifdef MUTANT_INNER_LOOKS_AT_OUTER
  :: stopped[level] || stopped[0] -> by = BY_OWN
#else
  :: stopped[level] -> by = BY_OWN
#endif
  :: else ->
    if
    :: stopping && !clear_buffered -> by = BY_STOPPING
    :: else
    fi
  fi
}

/* Takes the timer whose time has come. The loop looks at `earliest` without the lock first. */
inline run_timer() {
  ran = false;
  if
  :: earliest != FOREVER ->
    d_step { !timers_locked -> timers_locked = true; drain_clear() }
    d_step { /* P4 */
      if
      :: early_in_tree && clock >= 1 -> early_in_tree = false; early_ran = true; ran = true
      :: !early_in_tree && late_in_tree && clock >= 2 -> late_in_tree = false; ran = true
      :: else
      fi;
      if
      :: ran -> earliest = (early_in_tree -> 1 : (late_in_tree -> 2 : FOREVER))
      :: else
      fi;
      timers_locked = false
    }
  :: else
  fi
}

inline wait_for_work() {
#ifdef MUTANT_EARLIEST_BEFORE_PARK
  until = earliest;
#endif
  d_step {
    wake_word = 0; /* P2: in the store buffer until the park drains it */
    drain_clear();
    parked = (head == NOTHING);
    if
    :: parked -> head = PARKED /* P1 */
    :: else
    fi
  }
  if
  :: parked ->
#ifndef MUTANT_NO_LOOK_AFTER_PARK
    look_at_stops(); /* P1 */
    if
    :: head != PARKED || by != 0 || closing /* P1 */
    :: else ->
#else
    if
    :: true ->
#endif
#ifndef MUTANT_EARLIEST_BEFORE_PARK
      until = earliest; /* P1 */
#endif
      if
      :: until > deadline -> until = deadline
      :: else
      fi;
#ifdef MUTANT_WAKE_CLEARED_AFTER_LOOK
      wake_word = 0;
#endif
      do
      :: d_step { wake_word == 0 -> asleep = true } /* P2 */
         if
         :: !asleep
         :: until != FOREVER && clock >= until -> asleep = false; break
         fi
      :: wake_word != 0 -> break
      od
    fi;
    until = 0;
    by = 0;
    d_step {
      if
      :: head == PARKED -> head = NOTHING
      :: else
      fi
    }
  :: else
  fi;
  parked = false
}

proctype loop() {
  byte level, by, until, deadline = FOREVER;
  bool parked, ran, timed, ended;

  if
  :: timed = true /* the inner run has a deadline */
  :: skip
  fi;
#ifdef MUTANT_STOP_FORGOTTEN_AT_BEGIN /* run: stops */
  stopping = false;
#endif
  do
  :: ended = false;
     if
     :: closing -> ended = true /* P5, P6 */
     :: else ->
       look_at_stops();
       if
       :: by != 0 ->
         d_step {
           ended = true;
           assert(by != BY_OWN || asked[level]); /* P5: a stop ends its own activation only */
           by = 0;
           if
           :: !stopped[level] ->
             stops_taken++;
             assert(stops_taken <= stops_asked); /* P5: and a stop of the innermost ends one run */
#ifndef MUTANT_STOP_STAYS /* run: stop */
             clear_buffered = true
#endif
           :: else
           fi
         }
       :: else ->
         if
         :: deadline != FOREVER && clock >= deadline -> ended = true
         :: else
         fi
       fi
     fi;
     if
     :: ended && level == 0 -> break
     :: ended && level == 1 -> level = 0; deadline = FOREVER; inner_end_buffered = true
     :: else ->
       run_timer();
       if
       :: ran -> ran = false
       :: else ->
         d_step {
           ran = (head == JOB);
           if
           :: ran -> head = NOTHING; drain_clear()
           :: else
           fi
         }
         if
         :: ran ->
           ran = false;
           level = 1;
           deadline = (timed -> 1 : FOREVER)
         :: else -> wait_for_work()
         fi
       fi
     fi
  od;
  outer_ended = true
}

proctype memory() {
end:
  do
  :: d_step { stop_buffered[0] -> drain(0) }
  :: d_step { stop_buffered[1] -> drain(1) }
  :: d_step { stopping_buffered -> drain(STOPPING) }
  :: d_step { clear_buffered -> drain_clear() }
  :: d_step { inner_end_buffered && !clear_buffered -> inner_end_buffered = false; inner_ended = true }
  :: d_step { earliest_buffered == 2 -> earliest = 1; earliest_buffered = 1 }
  :: d_step { earliest_buffered == 1 -> drain(EARLIEST) }
  :: d_step { clock == 0 -> clock = 1 }
  :: d_step { clock == 1 && (early_ran || outer_ended) -> clock = 2 }
  od
}

init {
  atomic {
#ifdef TIMER
    if
    :: late_stop = true
    :: skip
    fi;
    run timer_submitter();
#endif
    run memory();
#ifdef CLOSE
    run closer();
#endif
#ifdef LOOP_STOP
    run loop_stopper();
#endif
#ifdef OUTER_STOP
    run activation_stopper(0);
#endif
#ifdef INNER_STOP
    run activation_stopper(1);
#endif
    run pusher();
    run loop()
  }
  outer_ended
}
