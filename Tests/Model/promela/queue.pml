/*
The run queue of core/mpsc.c, with a consumer that parks and sleeps as the loop of core/loop.c does.

Modelled: the head word (NULL, PARKED, a job; NULL and job also with the closed bit); a push's load, link and
  compare-and-exchange apart, so that it fails and tries again; take-all and turning round; the consumer's own list;
  park, the look after it, unpark; the wake word and its futex; the notifier's flag in its store buffer until that drains
  by itself or by the notify.
Abstracted: notify, close and take are their last, successful round; what only the consumer can see is one step; what a
  push stores before it publishes is stored with it, because nobody can look earlier; a futex does not return without
  reason; the memory is TSO, where each read-modify-write is a full fence: orders weaker than that are tried by
  mutants only.
Bounds: PRODUCERS producers push PUSHES jobs each, with LAST_ONCE the last of them one only; one notifier notifies once, one
  closer closes: at any moment, or (chosen at the start) not before all jobs and the notify have been seen, so that its
  wake cannot stand in for a lost one. In the run `again` a producer has one job only, which it pushes again when it has
  been popped: the head has one value twice.
Checks: Q1 Q3 Q4 Q5 Q6; Q2 in that a producer may stop before and after each step while all others go on. A lost wake
  is a deadlock. Every wake owed is counted when PARKED is left. Of loop.c: P1 P2.

RUN one: -DPRODUCERS=1 -DPUSHES=2
RUN pushes: -DPRODUCERS=2 -DPUSHES=2 -DLAST_ONCE
RUN again: -DPRODUCERS=2 -DPUSHES=2 -DAGAIN -DNO_NOTIFIER
DEEP pushes-twice: -DPRODUCERS=2 -DPUSHES=2
DEEP again-notified: -DPRODUCERS=2 -DPUSHES=2 -DAGAIN
DEEP three: -DPRODUCERS=2 -DPUSHES=3
*/

#ifdef LAST_ONCE
#define PUSHES_OF(p) (p == PRODUCERS - 1 -> 1 : PUSHES)
#else
#define PUSHES_OF(p) PUSHES
#endif
#define P PRODUCERS
#define JOBS (P * PUSHES + 1) /* jobs are numbered from 1; 0 is NULL */
#define PARKED 15
#define CLOSED 16 /* a bit */
#define job_of(word) ((word) & 15)

byte head;  /* shared */
byte wake;  /* the futex: 0, or 1 for a wake */
bool asleep; /* in that futex */
bool flag;  /* what the notifier writes */
bool flag_buffered;

byte next[JOBS];
byte carried[JOBS]; /* what the job carries, as memory has it: the number of its push */
byte buffered[P];   /* by a mutant: the job whose contents are in this producer's store buffer */
byte contents[P];   /* those */
bool idle[JOBS];

/* For the checks only. */
bool early;           /* the closer does not wait */
bool seen_flag;
byte pushed[P];       /* pushes that were accepted */
byte popped[P];       /* of those */
bool done[P];         /* the push in progress has won */
byte wakes_owed;      /* for this park */
byte finished;

#define all_popped (popped[0] == PUSHES_OF(0) && popped[P - 1] == PUSHES_OF(P - 1))

inline drain_job(p) {
  if
  :: buffered[p] != 0 -> carried[buffered[p]] = contents[p]; buffered[p] = 0
  :: else
  fi
}

inline drain_flag() {
  if
  :: flag_buffered -> flag = true; flag_buffered = false
  :: else
  fi
}

/* Of PARKED's end by another than the consumer. */
inline count_wake(found) {
  if
  :: found == PARKED -> wakes_owed++; assert(wakes_owed == 1) /* Q3 */
  :: else
  fi
}

inline wake_consumer() {
#ifdef MUTANT_WOKEN_BEFORE_WORD
  asleep = false;
  wake = 1
#else
#ifndef MUTANT_WAKE_NOT_WRITTEN
  wake = 1; /* P2 */
#endif
  asleep = false
#endif
}

proctype producer(byte p) {
  byte count, job, found;

  do
  :: count < PUSHES_OF(p) ->
    d_step {
#ifdef AGAIN
      idle[p + 1] ->
      job = p + 1;
      idle[job] = false;
#else
      job = p * PUSHES + count + 1;
#endif
      count++;
      found = head
    }
    do
#ifndef MUTANT_PUSH_IGNORES_CLOSED
    :: found >= CLOSED -> idle[job] = true; break /* Q6: refused */
#endif
    :: else ->
#ifdef MUTANT_PUSH_IN_TWO_STEPS
      d_step { done[p] = (head == found) }
#endif
      d_step { /* Q1, Q2: release */
#ifndef MUTANT_PUSH_IN_TWO_STEPS
        done[p] = (head == found);
#endif
        if
        :: done[p] ->
          head = job;
          next[job] = (found == PARKED -> 0 : found);
#ifdef MUTANT_PUSH_PUBLISHES_NOTHING
          buffered[p] = job;
          contents[p] = pushed[p] + 1;
#else
          carried[job] = pushed[p] + 1;
#endif
          pushed[p]++;
          count_wake(found)
        :: else -> found = head
        fi
      }
      if
      :: d_step { done[p] -> done[p] = false }
        if
#ifndef MUTANT_PUSH_OWES_NO_WAKE
        :: found == PARKED -> wake_consumer() /* Q3, Q4 */
#endif
        :: else
        fi;
        break
      :: !done[p]
      fi
    od;
    found = 0
  :: else -> break
  od;
  finished++
}

proctype notifier() {
  bool parked;

#ifdef MUTANT_NOTIFIED_BEFORE_FLAG /* run: one */
  skip;
#else
  flag_buffered = true;
#endif
  d_step { /* Q3, Q5 */
    parked = (head == PARKED);
#ifdef MUTANT_NOTIFY_ONLY_LOOKS /* run: one */
    if
    :: parked -> drain_flag()
    :: else
    fi;
#else
    drain_flag();
#endif
    if
    :: parked -> count_wake(head); head = 0
    :: else
    fi
  }
  if
  :: parked -> wake_consumer()
  :: else
  fi;
#ifdef MUTANT_NOTIFIED_BEFORE_FLAG
  flag = true;
#endif
  finished++
}

proctype closer() {
  bool parked;

  early || (seen_flag && all_popped);
  d_step { /* Q3, Q6 */
    parked = (head == PARKED);
    count_wake(head);
    head = (parked -> 0 : job_of(head)) | CLOSED
  }
#ifndef MUTANT_CLOSE_OWES_NO_WAKE
  if
  :: parked -> wake_consumer()
  :: else
  fi;
#endif
  finished++
}

inline pop() {
  d_step {
    job = 0;
    if
    :: first == 0 && head != PARKED && job_of(head) != 0 ->
      job = job_of(head);
#ifdef MUTANT_TAKE_OPENS
      head = 0;
#else
      head = head & CLOSED; /* Q1, Q6: acquire */
#endif
      do
      :: job != 0 ->
        older = next[job];
#ifdef MUTANT_NOT_TURNED_ROUND
        if
        :: first == 0 -> first = job
        :: else
        fi;
#else
        next[job] = first;
        first = job;
#endif
        job = older
      :: else -> break
      od;
      older = 0
    :: else
    fi;
    job = first;
    if
    :: job != 0 ->
      first = next[job];
#ifdef AGAIN
      older = job - 1;
#else
      older = (job - 1) / PUSHES;
#endif
      popped[older]++;
      assert(carried[job] == popped[older]); /* Q1: once, in order, with what it carries */
      next[job] = 0;
      carried[job] = 0;
#ifdef AGAIN
      assert(!idle[job]);
      idle[job] = true;
#endif
      older = 0
    :: else
    fi
  }
}

inline park() {
  d_step { /* Q3, Q4, Q5 */
    wake = 0; /* P2: in the store buffer until the park drains it */
#ifdef MUTANT_PARKS_ON_ANYTHING
    parked = (head < CLOSED);
#else
    parked = (head == 0);
#endif
    if
    :: parked -> head = PARKED; wakes_owed = 0
    :: else
    fi
  }
}

inline unpark() {
  d_step { /* Q3 */
#ifdef MUTANT_UNPARK_DOES_NOT_LOOK
    head = 0;
#else
    if
    :: head == PARKED -> head = 0; assert(wakes_owed == 0)
    :: else -> assert(wakes_owed == 1)
    fi;
#endif
    parked = false;
    wakes_owed = 0
  }
}

proctype consumer() {
  byte first, job, older;
  bool parked, closed;

  do
  :: d_step {
       closed = (head >= CLOSED);
       if
       :: flag -> flag = false; seen_flag = true
       :: else
       fi
     }
     pop();
     if
     :: job != 0
     :: job == 0 && closed -> break /* closed was looked at before the pop: all that was accepted is popped */
     :: job == 0 && !closed ->
       park();
       if
       :: parked ->
         if
#ifndef MUTANT_NO_LOOK_AFTER_PARK /* run: one */
         :: head != PARKED || flag /* P1 */
#endif
         :: else ->
#ifdef MUTANT_WAKE_CLEARED_AFTER_LOOK /* run: one */
           wake = 0;
#endif
           do
           :: wake == 0 ->
             d_step { asleep = (wake == 0) }
             !asleep
           :: else -> break
           od
         fi;
         skip;
         unpark()
       :: else
       fi
     fi
  od;
  finished++
}

proctype memory() {
  byte p;
end:
  do
#ifdef MUTANT_PUSH_PUBLISHES_NOTHING
  :: d_step { buffered[0] != 0 -> drain_job(0) }
  :: d_step { buffered[P - 1] != 0 -> drain_job(P - 1) }
#endif
  :: d_step { flag_buffered -> drain_flag() }
  od
}

init {
  byte i;
  atomic {
    do
    :: i < JOBS -> idle[i] = true; i++
    :: else -> break
    od;
    if
    :: early = true
    :: skip
    fi;
    run memory();
    run consumer();
#ifdef NO_NOTIFIER
    seen_flag = true;
    finished = 1;
#else
    run notifier();
#endif
    run closer();
    i = 0;
    do
    :: i < P -> run producer(i); i++
    :: else -> break
    od
  }
  finished == P + 3;
  assert(head == CLOSED); /* Q6 */
  i = 0;
  do
  :: i < P -> assert(popped[i] == pushed[i] && (early || pushed[i] == PUSHES_OF(i))); i++ /* Q1 */
  :: else -> break
  od
}
