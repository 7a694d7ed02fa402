/*
The run queue of core/mpsc.c, with a consumer that parks and sleeps as the loop of core/loop.c does.

Modelled: the head word (NULL, PARKED, a job, each but PARKED also with the closed bit) with a load and a
  compare-and-exchange apart, so that it fails and tries again; the links; take-all and turning round; the consumer's own list;
  park, the look after it, unpark; the wake word and its futex; a store buffer for each producer (what the job carries)
  and for the poker (its flag), drained by itself or by its owner's read-modify-write.
Abstracted: link and job are stored at once; a futex does not return without reason; the memory is TSO, where each
  read-modify-write is a full fence: of the orders named in C only their absence is checked, by mutants.
Bounds: PRODUCERS producers push PUSHES jobs each, one poker pokes once, one closer closes: at any moment, or (chosen at
  the start) not before all jobs and the poke have been seen, so that its wake cannot stand in for a lost one. In the
  run `again` a producer has one job only, which it pushes again when it has been popped (the head has the same value twice).
Checks: Q1 Q3 Q4 Q5 Q6; Q2 in that a producer may stop before and after each step while all others go on. A lost wake
  is a deadlock. Every wake owed is counted when PARKED is left. Of loop.c: P1 P2.

RUN pushes: -DPRODUCERS=2 -DPUSHES=2
RUN again: -DPRODUCERS=2 -DPUSHES=2 -DAGAIN
DEEP three: -DPRODUCERS=2 -DPUSHES=3
*/

#define P PRODUCERS
#define JOBS (P * PUSHES + 1) /* jobs are numbered from 1; 0 is NULL */
#define PARKED 15
#define CLOSED 16 /* a bit */
#define job_of(word) ((word) & 15)

byte head;  /* shared */
byte wake;  /* the futex: 0, or 1 for a wake */
bool asleep; /* in that futex */
bool flag;  /* what the poker writes */
bool flag_buffered;

byte next[JOBS];
byte carried[JOBS]; /* what the job carries, as memory has it: the number of its push */
byte buffered[P];   /* 0, or the job whose contents are in this producer's store buffer */
byte contents[P];   /* those */
bool idle[JOBS];

/* For the checks only. */
bool early;           /* the closer does not wait */
bool seen_flag;
byte pushed[P];       /* pushes that were accepted */
byte popped[P];       /* of those */
byte wakes_owed;      /* for this park */
byte finished;

#define all_popped (popped[0] == PUSHES && popped[P - 1] == PUSHES)

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
  bool done, refused;

  do
  :: count < PUSHES ->
#ifdef AGAIN
    job = p + 1;
#else
    job = p * PUSHES + count + 1;
#endif
    idle[job];
    idle[job] = false;
    found = head;
    done = false;
    do
    :: done -> break
    :: !done ->
      if
#ifdef MUTANT_PUSH_IGNORES_CLOSED
      :: false
#else
      :: found >= CLOSED -> refused = true; done = true /* Q6 */
#endif
      :: else ->
        assert(!refused); /* Q6: closed is for ever */
        next[job] = (found == PARKED -> 0 : found);
        d_step { buffered[p] = job; contents[p] = count + 1 }
#ifdef MUTANT_PUSH_IN_TWO_STEPS
        d_step { done = (head == found) }
#endif
        d_step { /* Q1, Q2: release */
#ifndef MUTANT_PUSH_PUBLISHES_NOTHING
          drain_job(p);
#endif
#ifndef MUTANT_PUSH_IN_TWO_STEPS
          done = (head == found);
#endif
          if
          :: done -> head = job; pushed[p]++; count_wake(found)
          :: else -> found = head
          fi
        }
        if
#ifndef MUTANT_PUSH_OWES_NO_WAKE
        :: done && found == PARKED -> wake_consumer() /* Q3, Q4 */
#endif
        :: else
        fi
      fi
    od;
    if
    :: refused -> idle[job] = true
    :: else
    fi;
    count++
  :: else -> break
  od;
  finished++
}

proctype poker() {
  byte found;
  bool done;

#ifndef MUTANT_POKED_BEFORE_FLAG
  flag_buffered = true;
#endif
  found = head;
  do
  :: d_step { /* Q3, Q5 */
#ifdef MUTANT_POKE_ONLY_LOOKS
       if
       :: found == PARKED -> drain_flag()
       :: else
       fi;
#else
       drain_flag();
#endif
       done = (head == found);
       if
       :: done && found == PARKED -> head = 0; count_wake(found)
       :: done
       :: else -> found = head
       fi
     }
     if
     :: done -> break
     :: else
     fi
  od;
  if
  :: found == PARKED -> wake_consumer()
  :: else
  fi;
#ifdef MUTANT_POKED_BEFORE_FLAG
  flag = true;
#endif
  finished++
}

proctype closer() {
  byte found;
  bool done;

  early || (seen_flag && all_popped);
  found = head;
  do
  :: d_step { /* Q3, Q6 */
       done = (head == found);
       if
       :: done -> head = (found == PARKED -> 0 : job_of(found)) | CLOSED; count_wake(found)
       :: else -> found = head
       fi
     }
     if
     :: done -> break
     :: else
     fi
  od;
#ifndef MUTANT_CLOSE_OWES_NO_WAKE
  if
  :: found == PARKED -> wake_consumer()
  :: else
  fi;
#endif
  finished++
}

proctype consumer() {
  byte first, found, job, older, whose;
  bool done, closed;

  do
  :: closed = (head >= CLOSED && head != PARKED);
     if
     :: flag -> flag = false; seen_flag = true
     :: else
     fi;
     /* pop */
     if
     :: first == 0 ->
       found = head;
       do
       :: job_of(found) == 0 || found == PARKED -> break /* nothing to take */
       :: else ->
         d_step { /* Q1, Q6: acquire */
           done = (head == found);
           if
#ifdef MUTANT_TAKE_OPENS
           :: done -> head = 0
#else
           :: done -> head = (found >= CLOSED -> CLOSED : 0)
#endif
           :: else -> found = head
           fi
         }
         if
         :: done -> break
         :: else
         fi
       od;
       if
       :: done ->
         job = job_of(found);
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
         older = 0;
         done = false
       :: else
       fi
     :: else
     fi;
     if
     :: first != 0 ->
       job = first;
       first = next[job];
       d_step {
#ifdef AGAIN
         whose = job - 1;
#else
         whose = (job - 1) / PUSHES;
#endif
         popped[whose]++;
         assert(carried[job] == popped[whose]); /* Q1: once, in order, with what it carries */
         assert(!idle[job]);
         idle[job] = true;
         job = 0;
         whose = 0
       }
     :: else ->
       if
       :: closed -> break /* looked at before the pop: what was pushed before it is popped */
       :: else ->
#ifndef MUTANT_WAKE_CLEARED_AFTER_PARK
         wake = 0; /* P2 */
#endif
         d_step { /* Q3, Q4, Q5 */
#ifdef MUTANT_PARKS_ON_ANYTHING
           done = (head < CLOSED);
#else
           done = (head == 0);
#endif
           if
           :: done -> head = PARKED; wakes_owed = 0
           :: else
           fi
         }
#ifdef MUTANT_WAKE_CLEARED_AFTER_PARK
         wake = 0;
#endif
         if
         :: done ->
           if
#ifndef MUTANT_NO_LOOK_AFTER_PARK
           :: head != PARKED || flag /* P1 */
#endif
           :: else ->
             do
             :: wake == 0 ->
               d_step { asleep = (wake == 0) }
               !asleep
             :: else -> break
             od
           fi;
           found = 0;
#ifdef MUTANT_UNPARK_DOES_NOT_LOOK
           d_step { head = 0 }
#else
           d_step { /* Q3 */
             if
             :: head == PARKED -> assert(wakes_owed == 0); head = 0
             :: else -> assert(wakes_owed == 1)
             fi
           }
#endif
           done = false
         :: else
         fi
       fi
     fi;
     found = 0
  od;
  finished++
}

proctype memory() {
  byte p;
end:
  do
  :: d_step { buffered[0] != 0 -> drain_job(0) }
  :: d_step { buffered[P - 1] != 0 -> drain_job(P - 1) }
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
    run poker();
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
  :: i < P -> assert(popped[i] == pushed[i] && (early || pushed[i] == PUSHES)); i++ /* Q1 */
  :: else -> break
  od
}
