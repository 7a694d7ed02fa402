/*
The lock of core/lock.c and include/CScheduler/lock.h, with the buckets of core/parking.c.

Modelled: the owner word; the waiter flag (SLEEPERS, and AWAKE as the number of a lock + 1); one bucket, its queue in
  order and each sleeper's own word to sleep on; a store buffer for each thread, which holds the unlock's `owner = 0`
  (and what the lock guards) until it drains by itself, by the thread's own read-modify-write, or by another's heavy
  fence, which drains one thread after the other; giving up at a deadline; the hand-off; the end of the lock's and the
  sleeper's memory.
Abstracted: time and counts (a deadline, the end of a spin, a look for a due sleeper may come at any moment); a compare-and-exchange loop is
  its last, successful round; the bucket's lock is one step each way, but in the run `bucket`; a futex does not return
  without reason; the memory is TSO, so nothing is said of processors that reorder more; misuse (L6) is left out.
Bounds: those of the runs below: THREADS threads lock and unlock ROUNDS times each, the first TIMED of them with
  deadlines, with LOCKS locks that share a bucket; with LAST_ONCE the last thread has one round only.
Checks: L1 L2 L3 L5 L7 L8, B1 B2 B3; L4 is modelled, but skips work only. At the end nothing is left behind. Whether
  threads may spin (more than one processor) is chosen at the start.

RUN two: -DTHREADS=2 -DROUNDS=2
RUN timed: -DTHREADS=2 -DROUNDS=2 -DTIMED=1
RUN three: -DTHREADS=3 -DROUNDS=1 -DTIMED=1
RUN locks: -DTHREADS=3 -DROUNDS=2 -DLOCKS=2 -DLAST_ONCE
RUN bucket: -DTHREADS=3 -DROUNDS=1 -DBUCKET_LOCK
RUN fences: -DTHREADS=2 -DROUNDS=2 -DTIMED=1 -DNO_MEMBARRIER
DEEP locks-twice: -DTHREADS=3 -DROUNDS=2 -DLOCKS=2
DEEP twice: -DTHREADS=3 -DROUNDS=2
DEEP twice-timed: -DTHREADS=3 -DROUNDS=2 -DTIMED=1
*/

#ifndef TIMED
#define TIMED 0
#endif
#ifndef LOCKS
#define LOCKS 1
#endif

#ifdef LAST_ONCE
#define ROUNDS_OF(t) (t == THREADS -> 1 : ROUNDS)
#else
#define ROUNDS_OF(t) ROUNDS
#endif
#define N (THREADS + 1) /* threads are numbered from 1; 0 is nobody */
#define GO_ON 1
#define GO_ON_AWAKE 2
#define YOURS 3

byte owner[LOCKS];
bool sleepers; /* a bit of the waiter flag */
bool is_due;   /* another one */
byte awake;    /* the rest of it: 0, or the awake waiter's lock + 1 */
byte due;      /* the bucket's sleeper that is due */

byte queue[N]; /* the bucket's, oldest first */
byte queue_length;
bool queued[N];
byte address[N];
byte signal[N];
bool asleep[N]; /* in the futex of its own signal */

byte buffered[N]; /* 0, or lock + 1 whose `owner = 0` is in this thread's store buffer */

bool may_spin;

/* For the checks only. */
byte inside[LOCKS];   /* threads in the section */
byte sections[LOCKS]; /* sections that have ended */
byte data[LOCKS];     /* what the lock guards: the same number, as memory has it */
byte users[LOCKS];    /* calls of lock that may still come or are waiting */
bool freed[LOCKS];
bool on_stack[N]; /* the sleeper's memory is valid */
byte in_bucket;
byte finished;
bool started;

/* The memory. */

inline drain(t) {
  if
  :: buffered[t] != 0 ->
    assert(owner[buffered[t] - 1] == t); /* L1: by its owner's store only */
    owner[buffered[t] - 1] = 0;
#ifndef MUTANT_UNLOCK_WITHOUT_RELEASE
    data[buffered[t] - 1] = sections[buffered[t] - 1];
#endif
    buffered[t] = 0
  :: else
  fi
}

inline take(l, for_whom, result) {
  d_step {
    assert(!freed[l]); /* L8 */
    drain(me);
    result = (owner[l] == 0); /* L1 */
    if
    :: result -> owner[l] = for_whom
    :: else
    fi
  }
}

inline fence_heavy() {
#ifdef NO_MEMBARRIER
  d_step { drain(me) }
#else
  other = 1;
  do
  :: other <= THREADS -> d_step { drain(other); other++ }
  :: else -> break
  od;
  other = 0
#endif
}

/* The bucket. */

#ifdef BUCKET_LOCK
#define FREE 0
#define TAKEN 1
#define SLEPT_ON 2
byte bucket;
bool bucket_asleep[N]; /* in the futex of the bucket's lock */

inline bucket_lock() {
  d_step {
    drain(me);
    found = bucket;
    if
    :: found == FREE -> bucket = TAKEN /* B1 */
    :: else
    fi
  }
  if
  :: found != FREE ->
    do
    :: d_step {
         found = bucket;
#ifdef MUTANT_BUCKET_TAKEN_AS_IF_ALONE /* run: bucket */
         bucket = (found == FREE -> TAKEN : SLEPT_ON)
#else
         bucket = SLEPT_ON /* B1, B2 */
#endif
       }
       if
       :: found == FREE -> break
       :: else
       fi;
       d_step { bucket_asleep[me] = (bucket == SLEPT_ON) }
       !bucket_asleep[me]
    od
  :: else
  fi;
  found = 0;
  d_step { in_bucket++; assert(in_bucket == 1) } /* B1 */
}

inline bucket_unlock() {
  d_step { in_bucket--; found = bucket; bucket = FREE } /* B1 */
  if
  :: found == SLEPT_ON -> /* B2 */
#ifndef MUTANT_BUCKET_WAKES_NOBODY /* run: bucket */
    if
    :: d_step { bucket_asleep[1] -> bucket_asleep[1] = false }
    :: d_step { bucket_asleep[2] -> bucket_asleep[2] = false }
    :: d_step { bucket_asleep[THREADS] -> bucket_asleep[THREADS] = false }
    :: d_step { !bucket_asleep[1] && !bucket_asleep[2] && !bucket_asleep[THREADS] -> skip }
    fi
#else
    skip
#endif
  :: else
  fi;
  found = 0
}
#else
inline bucket_lock() {
  d_step { in_bucket == 0 -> in_bucket = 1; drain(me) } /* B1 */
}

inline bucket_unlock() { in_bucket = 0 } /* B1 */
#endif

inline insert(in_front) {
  d_step {
    other = queue_length;
    if
    :: in_front ->
      do
      :: other > 0 -> queue[other] = queue[other - 1]; other--
      :: else -> break
      od
    :: else
    fi;
    queue[other] = me;
    queue_length++;
    queued[me] = true;
    other = 0
  }
}

inline remove(who) {
  d_step {
    other = 0;
    do
    :: queue[other] != who -> other++
    :: else -> break
    od;
    queue_length--;
    do
    :: other < queue_length -> queue[other] = queue[other + 1]; other++
    :: else -> break
    od;
    queue[queue_length] = 0;
    queued[who] = false;
    other = 0
  }
}

inline clear_flag() {
  d_step {
#ifndef MUTANT_SLEEPERS_STAYS
    if
    :: queue_length == 0 -> sleepers = false /* L5 */
    :: else
    fi;
#endif
#ifndef MUTANT_DUE_STAYS
    if
    :: due == 0 -> is_due = false /* L7 */
    :: else
    fi
#else
    skip
#endif
  }
}

inline first(l, who) {
  d_step {
    who = 0;
    do
    :: who < queue_length && address[queue[who]] != l -> who++
    :: else -> break
    od;
    who = queue[who] /* 0 behind the last */
  }
}

/* The hand-off. */

inline look_for_due(l) {
  if
  :: true
  :: due == 0 -> /* L7: has waited for due_after */
    first(l, due);
    if
    :: due != 0 -> is_due = true
    :: else
    fi
  fi
}

inline remove_and_clear(who) {
  remove(who);
  if
  :: due == who -> due = 0
  :: else
  fi;
  clear_flag()
}

/* In place of letting go. */
inline hand_over(l) {
  has = false;
  bucket_lock();
  woken = due;
#ifndef MUTANT_GIVEN_TO_ANOTHER_LOCKS_SLEEPER /* run: locks */
  if
  :: woken != 0 && address[woken] != l -> woken = 0
  :: else
  fi;
#endif
  if
  :: woken != 0 ->
    has = true;
    remove_and_clear(woken);
    d_step {
      drain(me);
      assert(owner[l] == me); /* L1, L7 */
      inside[l]--;
      sections[l]++;
      data[l] = sections[l]; /* carried by the signal */
      owner[l] = woken
    }
  :: else
  fi;
  bucket_unlock();
  if
  :: woken != 0 ->
    d_step { assert(on_stack[woken] && signal[woken] == 0); signal[woken] = YOURS } /* B3 */
    asleep[woken] = false
  :: else
  fi;
  woken = 0
}

/* The waiter flag. */

inline become_awake(l, result) {
  d_step {
    result = (awake == 0);
    if
    :: result -> awake = l + 1; drain(me) /* L3 */
    :: else
    fi
  }
}

inline stop_being_awake() {
  d_step { drain(me); awake = 0 } /* L3 */
}

/* Waking. */

inline wake_slow(l) {
  woken = 0;
  if
  :: sleepers -> /* L7: this time it looks */
    bucket_lock();
    look_for_due(l);
    bucket_unlock()
  :: true
  fi;
  if
#ifdef MUTANT_AWAKE_FOR_ANY_LOCK /* run: locks */
  :: !sleepers || awake != 0
#else
  :: !sleepers || awake == l + 1 /* L2, L3 */
#endif
  :: else ->
#ifdef MUTANT_OWNER_LOOKED_AT_WITHOUT_SLEEPER
    assert(!freed[l]);
#endif
    bucket_lock();
    first(l, woken);
    if
    :: woken != 0 ->
      assert(!freed[l]); /* L8: the sleeper keeps it valid */
      if
      :: owner[l] == 0 && awake != l + 1 && woken == due -> /* L4, L3, L7 */
#ifdef MUTANT_HANDOFF_TAKES_WITHOUT_LOOKING /* run: three */
        owner[l] = woken; has = true;
#else
        take(l, woken, has);
#endif
        if
        :: has -> told = YOURS; remove_and_clear(woken)
        :: else -> woken = 0
        fi;
        has = false
      :: owner[l] == 0 && awake != l + 1 && woken != due ->
        become_awake(l, has); /* L3: for the sleeper */
        remove_and_clear(woken);
        told = (has -> GO_ON_AWAKE : GO_ON);
        has = false
      :: else -> woken = 0
      fi
    :: else
    fi;
    bucket_unlock();
    if
    :: woken != 0 ->
#ifdef MUTANT_WOKEN_BEFORE_SIGNALLED
      asleep[woken] = false;
      d_step { assert(on_stack[woken] && signal[woken] == 0); signal[woken] = told }
#else
      d_step { assert(on_stack[woken] && signal[woken] == 0); signal[woken] = told } /* B3 */
#ifndef MUTANT_SIGNALLED_WITHOUT_WAKE
      asleep[woken] = false /* the futex; the sleeper may be gone, or in another sleep */
#endif
#endif
    :: else
    fi;
    told = 0
  fi;
  woken = 0
}

/* Waiting. */

/* Returns the signal in `got`, 0 on timeout. */
inline sleeper_wait(may_end) {
  do
  :: d_step { signal[me] != 0 -> got = signal[me] } break /* B3 */
  :: d_step { signal[me] == 0 -> asleep[me] = true }
     if
     :: !asleep[me]
     :: may_end -> d_step { asleep[me] = false; expired = true; got = signal[me] } break /* B3 */
     fi
  od
}

inline leave_bucket(l) {
  bucket_lock();
  has = queued[me];
  if
  :: has ->
    remove(me);
    if
    :: due == me -> due = 0; look_for_due(l) /* L7: its turn passes to the next */
    :: else
    fi;
    clear_flag()
  :: else
  fi;
  bucket_unlock();
  if
  :: has -> has = false
#ifndef MUTANT_LEAVES_BEFORE_ITS_SIGNAL
  :: else -> sleeper_wait(false)
#else
  :: else
#endif
  fi
}

/* One sleep. Returns in `got` the signal that ended it, 0 for none. */
inline sleep(l) {
  signal[me] = 0;
  bucket_lock();
  insert(again);
#if !defined(MUTANT_NO_ANNOUNCEMENT) && !defined(MUTANT_ANNOUNCED_AFTER_LOOK)
  sleepers = true; /* L2: announce */
#endif
  look_for_due(l);
  bucket_unlock();
#ifndef MUTANT_AWAKE_STAYS_IN_SLEEP
  if
  :: is_awake -> stop_being_awake() /* L3 */
  :: else
  fi;
#endif
  is_awake = false;
#ifndef MUTANT_NO_HEAVY_FENCE
  fence_heavy(); /* L2: heavy side */
#endif
#ifndef MUTANT_NO_SECOND_LOOK
  has = (owner[l] == 0); /* L2 */
#endif
#ifdef MUTANT_ANNOUNCED_AFTER_LOOK
  sleepers = true;
#endif
  if
  :: has -> has = false; leave_bucket(l)
  :: else ->
    sleeper_wait(timed);
    if
    :: got == 0 -> leave_bucket(l)
    :: else
    fi
  fi
}

inline lock_contended(l) {
  d_step { on_stack[me] = true; address[me] = l }
  do
  :: take(l, me, taken);
     do /* spin */
     :: !taken && may_spin && !is_awake && sleepers -> become_awake(l, is_awake);
        if
        :: is_awake
        :: else -> break
        fi
     :: !taken && may_spin && (is_awake || !sleepers) && owner[l] == 0 -> take(l, me, taken)
     :: break
     od;
     if
     :: taken -> break
     :: !taken && timed -> expired = true; break
     :: !taken && !expired
     fi;
     sleep(l);
     again = true;
     is_awake = (got == GO_ON_AWAKE); /* L3 */
     taken = (got == YOURS);          /* L7 */
     got = 0;
     if
     :: taken -> break
     :: else
     fi
  od;
  again = false;
#ifdef MUTANT_AWAKE_STAYS_WHEN_TAKEN
  if
  :: is_awake && !taken -> stop_being_awake()
  :: else
  fi;
#else
  if
  :: is_awake -> stop_being_awake() /* L3 */
  :: else
  fi;
#endif
  if
  :: !taken && is_awake ->
#ifndef MUTANT_GIVES_UP_WITHOUT_FENCE /* run: three */
    fence_heavy(); /* L5 */
#endif
#ifndef MUTANT_GIVES_UP_WITH_ITS_WAKE /* run: three */
    if
    :: owner[l] == 0 -> wake_slow(l) /* L5 */
    :: else
    fi
#endif
  :: else
  fi;
  is_awake = false;
  d_step { on_stack[me] = false; address[me] = 0; signal[me] = 0 }
}

inline unlock(l) {
  has = is_due; /* L7 */
  if
  :: has -> hand_over(l)
  :: else
  fi;
  if
#ifndef MUTANT_HANDED_OVER_AND_LET_GO
  :: has -> has = false
#endif
  :: else -> let_go(l)
  fi
}

inline let_go(l) {
#ifdef MUTANT_FLAG_BEFORE_OWNER
  has = (sleepers || awake != 0);
#endif
  d_step {
    inside[l]--;
    sections[l]++;
    buffered[me] = l + 1 /* L1: in the store buffer */
  }
#ifdef NO_MEMBARRIER
  d_step { drain(me) } /* L2: light side, full where there is no membarrier */
#endif
#ifndef MUTANT_FLAG_BEFORE_OWNER
  has = (sleepers || awake != 0); /* L2 */
#endif
  if
  :: has -> has = false; wake_slow(l)
  :: else
  fi
}

active [THREADS] proctype thread() {
  byte me = _pid + 1, round, l, other, woken, told, got, found;
  bool taken, is_awake, again, has, last, timed = (_pid < TIMED), expired;

  started;
  do
  :: round < ROUNDS_OF(me) ->
    l = (me + round) % LOCKS;
    take(l, me, taken); /* L1: the inline path */
    if
    :: taken
    :: !taken && timed -> expired = true /* the deadline had passed */
    :: !taken -> lock_contended(l)
    fi;
    if
    :: taken ->
      d_step {
        assert(owner[l] == me);
        assert(data[l] == sections[l]); /* L1: acquire and release */
        inside[l]++;
        assert(inside[l] == 1);
        users[l]--;
        last = (users[l] == 0)
      }
      unlock(l);
      d_step {
        if
        :: last -> freed[l] = true /* L8: nobody is going to use it */
        :: else
        fi;
        last = false
      }
    :: else -> users[l]--
    fi;
    d_step { taken = false; expired = false; round++ }
  :: else -> break
  od;
  finished++
}

active [THREADS] proctype memory() {
  byte whose = _pid - THREADS + 1;
end:
  do
  :: d_step { buffered[whose] != 0 -> drain(whose) }
#ifdef MUTANT_UNLOCK_WITHOUT_RELEASE
  :: data[0] != sections[0] -> data[0] = sections[0]
#endif
  od
}

init {
  byte i;
  d_step {
    do
    :: i < THREADS * ROUNDS && i % ROUNDS < ROUNDS_OF(i / ROUNDS + 1) ->
      users[(i / ROUNDS + 1 + i % ROUNDS) % LOCKS]++;
      i++
    :: i < THREADS * ROUNDS && i % ROUNDS >= ROUNDS_OF(i / ROUNDS + 1) -> i++
    :: else -> break
    od;
    i = 0
  }
  if
  :: may_spin = true
  :: skip
  fi;
  started = true;
  d_step { finished == THREADS && buffered[1] == 0 && buffered[2] == 0 && buffered[THREADS] == 0 -> skip }
  assert(owner[0] == 0 && owner[LOCKS - 1] == 0 && !sleepers && !is_due && due == 0 && awake == 0
         && queue_length == 0 && in_bucket == 0) /* L5 */
}
