/*
The idle protocol of core/pool_idle.c, with the workers' loop of core/pool_worker.c and the end of core/pool.c.

Modelled: the counts SEARCHING, IDLE and THREADS; the idle workers, the latest first; each one's signal; the
  start of a second thread, and of one in the place of one that has left; picking: the racy looks, the consumer's half of the
  inbox, the end of a search and the look after it; going to sleep and the last look; the end: closing, ending, waking
  all, leaving. By mutants, what the fences keep in order: a push that others see late, as from a store buffer, and a look
  that is made before the change of counts that it follows in the text. With the fence, a push that is seen late is a later push.
Abstracted: one inbox, without order (queue.pml); what is done under `idle_lock` is one step, likewise a look under
  `pick`; the looks at counts before the lock and under it are one, because the first only skips; a worker that is taken
  and one that is signalled, because it can do nothing in between; a futex is its word; a thread can always be started.
  Left out: BLOCKED and the monitor, forked jobs (a second place to look at), exits of long idle workers (F6).
Bounds: two workers, and as many threads at the most, one at the start; two submitters with EACH jobs, one after the
  other or as a batch; one stop to run, not before all jobs have run, so that its wakes cannot stand in for a lost one.
  The jobs meet: the first to begin ends only when the second has begun, and so on; so both workers are needed, and a
  wake that is lost is a deadlock. With EARLY the stop comes at any moment, and the jobs do not meet.
Checks: F1 F2 F3 F4 F5 F7. Also of the end: X1, X2. Of F2, that no wake but a batch's or an end's begins beside another
  search; of F4, that each worker that is taken gets one signal.

RUN single: -DEACH=2
RUN batch: -DEACH=2 -DBATCH
RUN stop: -DEACH=1 -DEARLY
DEEP stops: -DEACH=2 -DEARLY
*/

#define WORKERS 2
#define JOBS (2 * EACH)
#define NOBODY 2

byte searching = 1, idle, threads = 1; /* counts */
bool is_idle[WORKERS];
byte latest; /* to become idle, if both are */
bool signal[WORKERS];
bool has_slot[WORKERS]; /* its thread is counted */
bool started[WORKERS];  /* its thread is about to begin */
bool is_searching[WORKERS];

byte inbox;     /* pushed, not taken */
byte unseen[2]; /* by a mutant: of these, what others do not see yet */
byte taken;     /* the consumer's half */
bool more;      /* read racily: it is not empty */
bool pick;      /* the lock of the consumer's side */

bool closing, closed, over;
byte ending;

/* For the checks only. */
byte accepted, begun, ran;
byte finished;

#define visible (inbox > unseen[0] + unseen[1])
#define seems_busy (more || visible)
#define is_queued (taken != 0 || visible)
#define must_end (closing && ending != 1)

inline take_idle(who) {
  who = (is_idle[latest] -> latest : 1 - latest);
  assert(is_idle[who] && !signal[who]); /* F4 */
  is_idle[who] = false;
  latest = 0;
  idle--;
#ifndef MUTANT_TAKEN_IS_NOT_COUNTED
  searching++;
#endif
#ifndef MUTANT_SIGNAL_IS_LOST
  signal[who] = true
#endif
}

/* Leaves in `woke` whether it did. */
inline wake(beside_others) {
  d_step {
    woke = true;
    if
#ifndef MUTANT_WAKES_BESIDE_A_SEARCH
    :: !beside_others && searching > 0 -> woke = false /* F2 */
#endif
#ifdef MUTANT_ENOUGH_IS_ONE
    :: threads - idle >= 1 -> woke = false
#else
    :: threads - idle >= WORKERS -> woke = false /* F3 */
#endif
#ifndef MUTANT_STARTS_AFTER_THE_LAST /* run: stop */
    :: threads == 0 -> woke = false /* F7 */
#endif
    :: else ->
      assert(beside_others || (!is_searching[0] && !is_searching[1])); /* F2 */
      assert(beside_others || (!signal[0] && !signal[1] && !started[0] && !started[1])); /* F2: none in flight */
      if
      :: idle > 0 -> take_idle(who)
      :: else ->
        who = (has_slot[0] -> 1 : 0);
        assert(!has_slot[who] && !over); /* F3, F7 */
        has_slot[who] = true;
        threads++;
        searching++;
        started[who] = true
      fi;
      who = NOBODY
    fi
  }
}

inline wake_all() {
  do
  :: d_step { idle > 0 -> take_idle(who); who = NOBODY }
  :: idle == 0 -> break
  od
}

proctype submitter(byte s) {
  byte left = EACH, who = NOBODY;
  bool woke;

  do
  :: left > 0 && (closed || closing) -> left = 0 /* X1: refused, and so are all that would follow */
  :: d_step { left > 0 && !closed -> /* X1: it may have looked at closing before */
#ifdef BATCH
       inbox = inbox + EACH;
       accepted = accepted + EACH;
       unseen[s] = unseen[s] + EACH;
       left = 0;
#else
       inbox++;
       accepted++;
       unseen[s]++;
       left--;
#endif
#ifndef MUTANT_NO_FENCE_BEFORE_COUNTS
       unseen[s] = 0 /* F1 */
#endif
     }
     wake(false);
#ifdef BATCH
     if
     :: woke -> wake(true)
     :: else
     fi;
#endif
     woke = false
  :: left == 0 -> break
  od;
  finished++
}

proctype stopper() {
  byte who = NOBODY;

#ifndef EARLY
  ran == JOBS;
#endif
#ifdef MUTANT_WAKES_ALL_BEFORE_CLOSING
  wake_all();
  closing = true;
#else
  closing = true; /* F5 */
  wake_all();
#endif
  finished++
}

inline stop_search() {
  is_searching[me] = false;
  searching--;
#ifdef MUTANT_LAST_SEARCHER_DOES_NOT_LOOK
  found = (searching != 0)
#else
  found = (searching == 0) /* F2 */
#endif
}

inline be_idle() {
  is_idle[me] = true;
  idle++;
  latest = (idle == 2 -> me : 0);
  searching--;
  is_searching[me] = false
}

proctype worker(byte me) {
  byte number, who = NOBODY;
  bool found, woke;

end:
  atomic { started[me] -> started[me] = false; is_searching[me] = true }
  do
  :: seems_busy ->
     d_step { !pick -> /* F1: what is taken out is behind the lock until it is begun, or seen */
       found = true;
       if
       :: taken != 0 -> taken--
       :: taken == 0 && visible -> taken = inbox - 1; inbox = 0; unseen[0] = 0; unseen[1] = 0
       :: else -> found = false
       fi;
       pick = found
     }
     if
     :: found ->
       more = (taken != 0);
       if
       :: is_searching[me] ->
#ifdef MUTANT_NO_FENCE_AFTER_SEARCH
         woke = is_queued;
         d_step { stop_search(); found = found && woke; woke = false }
#else
         d_step { stop_search() }
         d_step { found = found && is_queued } /* F1 */
#endif
       :: else -> found = false
       fi;
#ifdef MUTANT_SEARCH_IS_NOT_PASSED_ON
       found = false;
#endif
       if
       :: found -> pick = false; wake(false) /* F2 */
       :: else -> pick = false
       fi;
       d_step { begun++; number = ((begun + 1) / 2) * 2; found = false; woke = false }
#ifdef EARLY
       d_step { ran++; number = 0 }
#else
       d_step { begun >= number -> ran++; number = 0 }
#endif
     :: else
     fi
  :: !seems_busy && must_end -> /* X2 */
     if
     :: d_step { ending == 0 -> ending = 1 }
        d_step { !pick -> closed = true; unseen[0] = 0; unseen[1] = 0; ending = 2 } /* X1, F5 */
#ifndef MUTANT_END_WAKES_NOBODY
        wake_all()
#endif
     :: ending == 1
     :: ending == 2 ->
       d_step { !pick -> found = is_queued }
       if
       :: found -> found = false
       :: else ->
         d_step {
           threads--;
           has_slot[me] = false;
           searching = (is_searching[me] -> searching - 1 : searching);
           is_searching[me] = false;
           if
           :: threads == 0 -> assert(!over); over = true /* F7 */
           :: else
           fi
         }
         goto end
       fi
     fi
  :: !seems_busy && !must_end ->
     d_step {
       searching = (is_searching[me] -> searching : searching + 1);
       is_searching[me] = true
     }
     if
     :: seems_busy
     :: !seems_busy ->
#ifdef MUTANT_LOOKS_BEFORE_IDLE
       d_step { !pick -> found = is_queued || must_end }
       d_step { be_idle() }
#else
       d_step { be_idle() } /* F1, F4 */
#endif
#ifdef MUTANT_LOOKS_FOR_WORK_ONLY
       d_step { !pick -> found = is_queued }
#endif
#ifdef MUTANT_LOOKS_WITHOUT_PICK
       d_step { found = seems_busy || must_end }
#endif
#ifdef MUTANT_NO_LAST_LOOK
       found = false;
#endif
#if !defined(MUTANT_LOOKS_BEFORE_IDLE) && !defined(MUTANT_NO_LAST_LOOK) && \
    !defined(MUTANT_LOOKS_FOR_WORK_ONLY) && !defined(MUTANT_LOOKS_WITHOUT_PICK)
       d_step { found = must_end } /* F5 */
       if
       :: !found && threads - idle < WORKERS -> d_step { !pick -> found = is_queued } /* F1, F5 */
       :: else
       fi;
#endif
       if
       :: found ->
         d_step { /* F4 */
#ifndef MUTANT_LEAVES_IDLE_THOUGH_TAKEN
           found = is_idle[me];
#endif
           if
           :: found -> is_idle[me] = false; idle--; latest = 0; searching++; is_searching[me] = true
           :: else
           fi
         }
       :: else
       fi;
       if
       :: found -> found = false
       :: !found ->
         d_step { signal[me] -> /* F4 */
           assert(!is_idle[me] && searching > 0);
#ifndef MUTANT_SIGNAL_STAYS /* which the next sleep clears; nobody looks in between */
           signal[me] = false;
#endif
           is_searching[me] = true
         }
       fi
     fi
  od
}

#ifdef MUTANT_NO_FENCE_BEFORE_COUNTS
proctype memory() {
end:
  do
  :: d_step { unseen[0] != 0 -> unseen[0] = 0 }
  :: d_step { unseen[1] != 0 -> unseen[1] = 0 }
  od
}
#endif

init {
  atomic {
#ifdef MUTANT_NO_FENCE_BEFORE_COUNTS
    run memory();
#endif
    has_slot[0] = true;
    started[0] = true;
    run worker(0);
    run worker(1);
    run submitter(0);
    run submitter(1);
    run stopper()
  }
  finished == 3 && over; /* F1, F5, X2 */
  assert(ran == accepted); /* X1 */
  assert(threads == 0 && idle == 0 && searching == 0 && !signal[0] && !signal[1] && !started[0] && !started[1])
}
