/*
The serial queue of core/serial.c, on a base with two workers.

Modelled: the inbox with its mark PARKED and its closed bit; the drain job, from its submission to its release; the hold
  word; letting go of the queue, in all its steps; the references in `owners`; sync, inline and in line; a base that refuses:
  when the drain job is submitted, or, what it has already, when its turn comes; the end of the handle.
Abstracted: a push, pop, notify, park and close are one step each (queue.pml), a compare-and-exchange loop is its last,
  successful round; the drain job is the base's only one, its state that of job.c without cancelling; the futex of a
  sync in line. For the orders there is no store buffer, but happens-before, of one thing: the consumer's half of the
  queue and what its jobs write. `known` has who knows of all that was done to it: the threads, and the words that carry
  it, released by one and acquired by another.
Bounds: two submitters, of which the first submits FIRST jobs and the other one; one that suspends ROUNDS times, and
  each time resumes, but may leave the last one, after the sync, to the end of the handle; one sync, whose base may not
  let it in; the drain job runs LENGTH jobs in a batch. The last of these to end destroys the handle.
Checks: S1 S2 S3 S5 S6, that a submitter's jobs begin in order, and that each is run or dropped once. What waits for ever
  is a deadlock. Not S7; S4 only in that a batch that ends goes on. The base may refuse where REFUSE is defined.

RUN hold: -DFIRST=2 -DROUNDS=1 -DLENGTH=1
RUN holds: -DFIRST=1 -DROUNDS=2 -DLENGTH=2
RUN refuse: -DFIRST=1 -DROUNDS=1 -DLENGTH=1 -DREFUSE
DEEP more: -DFIRST=2 -DROUNDS=2 -DLENGTH=1 -DREFUSE
*/

#define SYNC 0 /* jobs: the sync's, the first submitter's, the other's */
#define OTHER (FIRST + 1)
#define JOBS (FIRST + 2)
#define STALLED 1
#define SUSPENSION 2

/* In `known`: the two workers are 0 and 1, the submitters 2 and 3. */
#define SUSPENDER 4
#define SYNCER 5
#define HEAD 6
#define HOLD 7
#define BASE 8

chan inbox = [JOBS] of { byte };
bool parked = true, closed;
byte hold;
byte owners = 1;
bool drain_pending; /* the drain job's state: it is queued or runs */
bool drain_queued;  /* it is with the base */
bool refusing;
bool sync_ended, sync_dropped;

/* For the checks only. */
bool freed;
short known = 511;
byte inside;         /* jobs in progress */
bool passed;         /* the holder has passed the check for a job that has not begun */
bool grace;          /* it had passed it when the queue was suspended */
bool ended[JOBS];
byte users = 4;

inline releases(word) {
  if
  :: known & (1 << me) -> known = known | (1 << word)
  :: else
  fi
}

inline acquires(word) {
  if
  :: known & (1 << word) -> known = known | (1 << me)
  :: else
  fi
}

/* Something is done that only the holder may do. */
inline touch() {
  assert(!freed);
  assert(known & (1 << me));
  known = 1 << me
}

inline end_job(job, is_dropped) {
  assert(!ended[job]); /* S1 */
  ended[job] = true;
  if
  :: job == SYNC -> sync_ended = true; sync_dropped = is_dropped
  :: else
  fi
}

inline run_job(job) {
  d_step {
    touch(); /* S1, S3 */
    assert(!closed); /* S6 */
    assert(hold < SUSPENSION || grace); /* S3 */
    assert(job == SYNC || job == 1 || job == OTHER || ended[job - 1]);
    inside++;
    assert(inside == 1); /* S1 */
    passed = false;
    grace = false
  }
  d_step {
    inside--;
    end_job(job, false)
  }
}

/* S3: a relaxed load. Leaves what it found in `found`. */
inline check_hold() {
  d_step {
    assert(!freed);
    found = (hold >= SUSPENSION);
    passed = !found
  }
}

inline take_reference() {
#ifdef MUTANT_HOLDS_WITHOUT_A_PART
  skip
#else
  d_step { assert(!freed); owners++ } /* S5 */
#endif
}

inline give_up() {
  d_step { /* S5 */
    assert(!freed);
    assert(owners != 0);
    owners--;
    if
    :: owners == 0 -> freed = true; assert((parked || closed) && len(inbox) == 0 && inside == 0)
    :: else
    fi
  }
}

/* S6. Then the drain job's release, which finds the queue closed. */
inline drop_all() {
#ifndef MUTANT_CLOSES_LAST /* run: refuse */
  d_step { touch(); assert(!closed && !parked); closed = true }
#endif
#ifndef MUTANT_DROPS_NOTHING /* run: refuse */
  do
  :: d_step {
       touch();
       found = (len(inbox) != 0);
       if
       :: found -> inbox?job; end_job(job, true)
       :: else
       fi;
       job = 0
     }
     if
     :: !found -> break
     :: else
     fi
  od;
#endif
#ifdef MUTANT_CLOSES_LAST
  atomic { touch(); closed = true };
#endif
  found = false;
  drain_pending = false;
#ifndef MUTANT_REFUSED_KEEPS_ITS_PART /* run: refuse */
  give_up()
#endif
}

inline submit_drain() {
  d_step {
    assert(!freed);
    assert(!drain_pending); /* job.h: it may be submitted now */
    drain_pending = true;
    found = refusing;
    if
    :: !found ->
      releases(BASE);
      drain_queued = true
    :: else
    fi
  }
  if
  :: found -> found = false; drop_all()
  :: else
  fi
}

inline let_go() {
#ifdef MUTANT_STALLS_IN_TWO_STEPS
  d_step { assert(!freed); found = (hold >= SUSPENSION) }
  if
  :: found -> d_step { hold = hold | STALLED; releases(HOLD) }
  :: else
  fi;
#else
  d_step { /* S2, S3 */
    assert(!freed);
    found = (hold >= SUSPENSION);
    if
    :: found ->
      assert(!(hold & STALLED)); /* S1 */
      hold = hold | STALLED;
#ifndef MUTANT_STALL_WITHOUT_RELEASE
      releases(HOLD)
#endif
    :: else
    fi
  }
#endif
  if
  :: found -> found = false
  :: else ->
    d_step { /* S1 */
      touch();
      assert(!parked);
#ifdef MUTANT_PARKS_ON_ANYTHING
      found = true;
#else
      found = (len(inbox) == 0 && !closed);
#endif
      if
      :: found ->
        parked = true;
        releases(HEAD)
      :: else
      fi
    }
    if
    :: found -> found = false; give_up()
#ifdef MUTANT_MORE_IS_NOT_SUBMITTED
    :: else
#else
    :: else -> submit_drain() /* S2 */
#endif
    fi
  fi
}

proctype worker(byte me) {
  byte job, count;
  bool found, again;

end:
  do
  :: d_step { drain_queued -> drain_queued = false; acquires(BASE) }
     if
     :: refusing -> drop_all() /* a base may drop what it has, too */
     :: true ->
       do
       :: count < LENGTH ->
#ifndef MUTANT_DRAIN_IGNORES_SUSPENSION
         check_hold(); /* S3 */
         if
         :: found -> break
         :: else
         fi;
#endif
         d_step {
           touch(); /* S1 */
           acquires(HEAD);
           found = (len(inbox) == 0);
           if
           :: found -> passed = false; grace = false
           :: else -> inbox?job
           fi
         }
         if
         :: found -> break
         :: else -> run_job(job); d_step { job = 0; count++ }
         fi
       :: else ->
         d_step { assert(!freed); again = (len(inbox) != 0) } /* S4 */
         break
       od;
       count = 0;
       found = false;
#ifdef MUTANT_LETS_GO_BEFORE_RELEASE
       let_go();
       drain_pending = false
#else
       drain_pending = false; /* by its own submission, or at its end; either way it is not looked at again */
       if
       :: again -> again = false; submit_drain()
#ifdef MUTANT_AGAIN_AND_LETS_GO
         ; let_go()
#endif
       :: else -> let_go() /* in its release */
       fi
#endif
     fi
  od
}

inline deliver(job) {
  d_step {
    assert(!freed);
    if
#ifndef MUTANT_PUSH_IGNORES_CLOSED /* run: refuse */
    :: closed -> refused = true; end_job(job, true) /* S6 */
#endif
    :: else ->
      inbox!job;
      releases(HEAD);
      acquires(HEAD);
      found = parked;
      parked = false /* S1 */
    fi
  }
  if
  :: found -> found = false; take_reference(); submit_drain() /* S2 */
  :: else
  fi;
  refused = false
}

inline resume() {
  d_step { /* S3 */
    assert(!freed);
    assert(hold >= SUSPENSION);
    hold = hold - SUSPENSION;
    found = (hold == STALLED);
#ifdef MUTANT_RESUME_KEEPS_THE_MARK /* run: holds */
    skip;
#else
    hold = (found -> 0 : hold);
#endif
#ifndef MUTANT_RESUME_WITHOUT_ACQUIRE
    acquires(HOLD);
#endif
#ifdef MUTANT_EACH_RESUME_LETS_GO
    found = true;
#endif
#ifdef MUTANT_RESUME_FORGETS_STALLED
    found = false;
#endif
  }
  if
  :: found -> found = false; let_go() /* S2 */
  :: else
  fi
}

/* The last user destroys the handle. */
inline leave_handle() {
  d_step { users--; found = (users == 0) }
  if
  :: found ->
    found = false;
    if
    :: hold >= SUSPENSION -> resume()
    :: else
    fi;
    give_up() /* S5 */
  :: else
  fi
}

proctype submitter(byte me; byte next; byte last) {
  byte job;
  bool found, refused;

  do
  :: next <= last -> deliver(next); next++
  :: else -> break
  od;
  leave_handle()
}

proctype suspender() {
  byte job, count, me = SUSPENDER;
  bool found;

  do
  :: count < ROUNDS ->
    d_step { /* S3 */
      count++;
      assert(!freed);
      grace = (hold < SUSPENSION -> passed : grace);
      hold = hold + SUSPENSION
    }
    if
    :: count == ROUNDS && sync_ended /* which is a call on the handle, and needs a resume */
    :: resume()
    fi
  :: else -> break
  od;
  leave_handle()
}

proctype syncer() {
  byte job, me = SYNCER;
  bool found, refused;

  d_step { /* S1: the notify */
    assert(!freed);
    found = parked;
    releases(HEAD);
    acquires(HEAD);
#ifndef MUTANT_SYNC_ONLY_LOOKS
    parked = false
#endif
  }
  if
  :: found ->
    take_reference();
#ifdef MUTANT_SYNC_IGNORES_SUSPENSION
    found = false;
#else
    check_hold();
#endif
    if
    :: !found -> run_job(SYNC)
    :: true -> /* suspended, or its base does not let it in */
      d_step { found = false; passed = false; grace = false }
    fi;
    let_go()
  :: else
  fi;
  if
  :: !ended[SYNC] -> deliver(SYNC)
  :: else
  fi;
  sync_ended; /* S2 */
  leave_handle()
}

init {
  byte i;
  atomic {
    run worker(0);
    run worker(1);
    run submitter(2, 1, FIRST);
    run submitter(3, OTHER, OTHER);
    run suspender();
    run syncer()
  }
#ifdef REFUSE
  refusing = true; /* S6: at any moment, from here on */
#endif
  freed; /* S2, S5 */
  do
  :: i < JOBS -> assert(ended[i]); i++ /* S1, S2 */
  :: else -> break
  od;
  assert(users == 0 && owners == 0 && !drain_queued && !drain_pending && hold < SUSPENSION && (closed || !sync_dropped))
}
