/*
A timer of core/timer.c, from its submission to its release: armed, moved, cancelled, fired, closed, with the loop of
core/loop.c that sleeps for it and the job of core/job.c inside.

Modelled: one timer, in all its stages: submitted and on its way in; waiting; due and on its way, through the queue that
  it is for; in the inbox, because it was late; running, where it may submit itself again, to the loop's own timers or
  to another loop's; cancelled at each of these; its state and owner; the lock of each loop's timers; `wake`, low
  or not; the park, the look after it and the notify. The store buffer of whoever adds the timer, with the owner,
  `wake` and the unlock, in this order, until its next read-modify-write or another's heavy fence.
Abstracted: the wheel and the tree are one deadline for this timer, and one for another that waits far behind it; `first`
  is `wake` (no leeway); who holds a lock all along is one step, but for adding; the queue (queue.pml) and the sleep
  (loop.pml) are one step for each of their operations, the futex is a word; time stands still while a timer that is due
  has not been given back, so that a missed wake is a deadlock; the memory is TSO.
Bounds: one submitter, who submits the timer twice, the second time after the end of the first; CANCELLERS threads that
  cancel once each, one that moves the timer, one that closes; the timer submits itself again once. The first deadline is
  past, near or never, its own far, the last near.
Checks: W1 W4 W5 W6 W7 W8, P1 P4, that each submission is run or dropped once and released once, after that (J1, J3),
  that a canceller ends one submission only, and locks what that one waits in (W6). A timer that is not given back is a deadlock.

RUN cancel: -DCANCELLERS=2
RUN move: -DCANCELLERS=1 -DMOVE
RUN owners: -DCANCELLERS=1 -DLOOPS=2
RUN close: -DCANCELLERS=1 -DCLOSE
DEEP owners-two: -DCANCELLERS=2 -DLOOPS=2
DEEP all: -DCANCELLERS=1 -DLOOPS=2 -DMOVE -DCLOSE
*/

#ifndef LOOPS
#define LOOPS 1
#endif
#define OTHER(l) (LOOPS - 1 - l)
#define FAR 2
#define FOREVER 3
#define NOBODY 9

mtype = { IDLE, QUEUED, RUNNING, DROPPING, CANCELLED, PASSED };

mtype state = IDLE;
byte deadline;
byte owner = NOBODY; /* where it waits */

bool locked[LOOPS], closed[LOOPS]; /* the timers */
byte wake_at[LOOPS];
bool is_wake_low[LOOPS];
bool far_waits = true; /* the other timer, in the first loop */

bool parked[LOOPS], refuses[LOOPS], in_inbox[LOOPS], closing[LOOPS], woken[LOOPS];
byte clock;

/* The store buffer of who adds. */
byte adding = NOBODY; /* to which loop */
bool owner_buffered, wake_buffered, unlock_buffered;

/* For the checks only. */
byte submissions, runs, drops;
bool live; /* not released since */
byte where; /* the loop that it was submitted to last */
byte finished;
bool again; /* it will submit itself once */
bool through; /* it is for a queue on the loop */

inline drain_one() {
  if
  :: owner_buffered -> owner = adding; owner_buffered = false
  :: !owner_buffered && wake_buffered -> wake_at[adding] = deadline; wake_buffered = false
  :: !owner_buffered && !wake_buffered && unlock_buffered ->
    locked[adding] = false; unlock_buffered = false; adding = NOBODY
  :: else
  fi
}

inline drain() { drain_one(); drain_one(); drain_one() }

inline release() {
  assert(live && runs + drops == submissions); /* J1, J3 */
  assert(owner == NOBODY && !in_inbox[0] && !in_inbox[LOOPS - 1]); /* W5, W6 */
  live = false
}

/* The one who has unlinked a cancelled entry: of it and its canceller, who comes last releases. */
inline pass_cancelled() {
  assert(state == DROPPING || state == CANCELLED);
  if
  :: state == DROPPING -> state = PASSED /* J3 */
  :: else -> state = IDLE; release()
  fi
}

inline discard() {
  d_step {
    if
    :: state == QUEUED -> drops++; state = IDLE; release() /* J1; that it is CANCELLED meanwhile nobody can tell */
    :: else -> pass_cancelled()
    fi
  }
}

inline announce(l) {
  d_step { was_parked = parked[l]; parked[l] = false; drain() } /* P1 */
  if
  :: was_parked -> was_parked = false; woken[l] = true
  :: else
  fi
}

inline push(l) {
  d_step {
    refused = refuses[l];
    if
    :: refused
    :: else ->
      assert(!in_inbox[l] && owner == NOBODY); /* W5 */
      in_inbox[l] = true;
      was_parked = parked[l];
      parked[l] = false
    fi
  }
  if
  :: refused -> refused = false; discard()
  :: else ->
    if
    :: was_parked -> was_parked = false; woken[l] = true
    :: else
    fi
  fi
}

/* Under the lock of `l`: the timer is out. */
inline leave(l) {
  assert(owner == l); /* W5 */
  owner = NOBODY; /* W6 */
  is_wake_low[l] = is_wake_low[l] || deadline <= wake_at[l];
#ifdef MUTANT_LEAVING_RAISES_WAKE
  wake_at[l] = FOREVER
#endif
}

inline settle(l) {
  if
  :: (l != 0 || !far_waits) && (owner != l || deadline == FOREVER) ->
    wake_at[l] = FOREVER; /* W4 */
    is_wake_low[l] = false
  :: else
  fi
}

inline add(l) {
  d_step { !locked[l] -> drain(); locked[l] = true }
  if
#ifndef MUTANT_CLOSED_TAKES_ANOTHER /* run: close */
  :: closed[l] -> locked[l] = false; discard() /* W7 */
#endif
  :: else ->
#ifdef MUTANT_LOOKS_BEFORE_IT_HAS_AN_OWNER
    cancelled = (state == DROPPING || state == CANCELLED);
#endif
    d_step {
      assert(owner == NOBODY && !in_inbox[0] && !in_inbox[LOOPS - 1]); /* W5 */
      adding = l;
      owner_buffered = true;
      first = (deadline < wake_at[l]);
      wake_buffered = first;
      is_wake_low[l] = (first -> false : is_wake_low[l])
    }
#if !defined(MUTANT_ADD_DOES_NOT_LOOK) && !defined(MUTANT_LOOKS_BEFORE_IT_HAS_AN_OWNER)
    cancelled = (state == DROPPING || state == CANCELLED); /* W8: no fence that costs anything */
#endif
    d_step {
      if
      :: cancelled -> drain(); leave(l); settle(l) /* the lock is still held: its unlock comes behind */
      :: else
      fi;
      adding = l;
      unlock_buffered = true
    }
    if
#ifdef MUTANT_CANCELLED_HIDES_ITS_WAKE /* run: move */
    :: first && !cancelled -> announce(l)
#else
    :: first ->
#ifndef MUTANT_TIMER_NOT_ANNOUNCED
      announce(l) /* W4, P1 */
#endif
#endif
    :: else
    fi;
    if
    :: cancelled -> discard() /* W8 */
    :: else
    fi;
    cancelled = false;
    first = false
  fi
}

inline submit(l, at) {
  d_step { assert(state == IDLE || state == RUNNING); state = QUEUED; submissions++; live = true; where = l; deadline = at }
  if
  :: at <= clock && at < wake_at[l] -> push(l)
  :: else -> add(l)
  fi
}

/* Leaves in `is_out` whether the timer was waiting, and is out by this hand. */
inline withdraw() {
  seen = owner;
  if
  :: seen == NOBODY -> is_out = false
  :: else ->
    assert(seen == where); /* W6: of the present submission; another's loop may be gone */
    d_step { !locked[seen] ->
#ifdef MUTANT_TAKEN_WITHOUT_A_LOOK
      is_out = true;
#else
      is_out = (owner == seen); /* W6 */
#endif
      if
      :: is_out ->
#ifndef MUTANT_CANCELLED_STAYS
        leave(seen); /* W5 */
        settle(seen)
#else
        is_out = false
#endif
      :: else
      fi
    }
  fi;
  seen = 0
}

inline end_cancel() {
  d_step {
    if
    :: state == DROPPING && !is_out -> state = CANCELLED /* J3 */
    :: else ->
      assert(state == PASSED || is_out);
#ifndef MUTANT_PASSED_IS_NOT_SEEN
      state = IDLE;
      release()
#endif
    fi
  }
}

proctype canceller() {
  byte seen;
  bool is_out, mine;

  submissions > 0;
#ifdef MUTANT_LOOKS_BEFORE_IT_CANCELS /* run: owners */
  withdraw();
#endif
  d_step {
    mine = (state == QUEUED);
    if
    :: mine -> state = DROPPING /* J1 */
    :: else
    fi
  }
  if
  :: mine ->
    drops++;
#ifndef MUTANT_LOOKS_BEFORE_IT_CANCELS
    withdraw();
#endif
#ifdef MUTANT_SECOND_LOOK_LAST
    end_cancel();
#endif
#ifndef MUTANT_NO_SECOND_LOOK
    if
    :: !is_out ->
#ifndef MUTANT_NO_HEAVY_FENCE
      d_step { drain() } /* W8 */
#endif
      withdraw()
    :: else
    fi;
#endif
#ifndef MUTANT_SECOND_LOOK_LAST
    end_cancel()
#else
    skip
#endif
  :: else
  fi;
  d_step { is_out = false; mine = false; finished++ }
}

proctype mover() {
  bool was_parked, first;
#ifdef MUTANT_MOVED_HAS_NO_OWNER_MEANWHILE
  bool gone;
#endif
  byte at = 1;

  submissions > 0;
  if
  :: at = FAR
  :: skip
  fi;
#ifdef MUTANT_MOVED_HAS_NO_OWNER_MEANWHILE /* run: move */
  d_step { !locked[0] ->
    gone = (owner == 0);
    owner = (gone -> NOBODY : owner);
    locked[0] = gone
  }
  d_step {
    owner = (gone -> 0 : owner);
    locked[0] = (gone -> false : locked[0])
  }
#endif
  d_step { !locked[0] ->
    if
#ifdef MUTANT_MOVES_WHAT_IS_NOT_HERE /* run: move */
    :: live ->
      owner = 0;
#else
    :: owner == 0 -> /* W5; W8: and stays so */
      assert(state != CANCELLED); /* W8 */
#endif
      is_wake_low[0] = is_wake_low[0] || deadline <= wake_at[0];
      deadline = at;
      first = (at < wake_at[0]);
      wake_at[0] = (first -> at : wake_at[0]);
      is_wake_low[0] = (first -> false : is_wake_low[0])
    :: else
    fi
  }
  if
  :: first ->
#ifndef MUTANT_MOVE_NOT_ANNOUNCED /* run: move */
    announce(0) /* P1 */
#else
    skip
#endif
  :: else
  fi;
  d_step { first = false; finished++ }
}

proctype submitter() {
  bool was_parked, refused, cancelled, first;

  if
  :: submit(0, 0)
  :: submit(0, 1)
  :: submit(0, FOREVER)
  fi;
  d_step { state == IDLE && !live; drain() }
  submit(0, 1);
  finished++
}

proctype closer() {
  byte l;

  do
  :: l < LOOPS ->
    closing[l] = true;
    d_step { !locked[l] -> closed[l] = true }
    d_step { refuses[l] = true; woken[l] = woken[l] || parked[l]; parked[l] = false }
    l++
  :: else -> break
  od;
  finished++
}

inline perform(l) {
  d_step {
    ran = (state == QUEUED);
    if
    :: ran -> state = RUNNING; runs++ /* J1 */
    :: else -> pass_cancelled()
    fi
  }
  if
  :: ran && again ->
    ran = false;
    again = false;
    submit(OTHER(l), FAR)
  :: ran && !again -> d_step { ran = false; state = IDLE; release() }
  :: else
  fi
}

/* Takes the timer if it is due. It looks at `wake` without the lock first. */
inline pop(l) {
  d_step { !locked[l] ->
    drain();
    popped = owner == l &&
#ifdef MUTANT_POPPED_EARLY
      deadline != FOREVER;
#else
      deadline <= clock;
#endif
    if
    :: popped ->
      assert(clock >= deadline); /* W1 */
      assert(state != CANCELLED); /* W8: its canceller, or who added it, has taken it out */
#ifndef MUTANT_POPPED_AND_STAYS
      leave(l); /* W5 */
#endif
      settle(l)
    :: !popped && l == 0 && far_waits && clock >= FAR -> far_waits = false; is_wake_low[0] = true; settle(l)
    :: else ->
      if
      :: is_wake_low[l] || wake_at[l] <= clock -> /* W4 */
        is_wake_low[l] = false;
        wake_at[l] = (owner == l -> deadline : FOREVER);
        wake_at[l] = (l == 0 && far_waits && wake_at[l] > FAR -> FAR : wake_at[l])
      :: else
      fi
    fi
  }
}

proctype loop(byte l) {
  byte until;
  bool was_parked, refused, cancelled, first, ran, popped;

  do
  :: closing[l] -> break
  :: else ->
    if
    :: wake_at[l] != FOREVER -> pop(l)
    :: else
    fi;
    if
    :: popped && through -> popped = false; push(l)
    :: popped && !through -> popped = false; perform(l)
    :: !popped && in_inbox[l] -> in_inbox[l] = false; perform(l)
    :: else ->
      d_step {
        woken[l] = false;
        was_parked = !in_inbox[l] && !refuses[l];
        parked[l] = was_parked; /* P1 */
        drain()
      }
      if
      :: was_parked ->
        was_parked = false;
        if
        :: !parked[l] || closing[l]
        :: else ->
          until = wake_at[l]; /* W4, P1 */
end:
          if
          :: woken[l]
          :: until != FOREVER && clock >= until
          fi;
          until = 0
        fi;
        parked[l] = false
      :: else
      fi
    fi
  od;
  refuses[l] = true;
  d_step { !locked[l] -> drain(); closed[l] = true }
  if
  :: in_inbox[l] -> in_inbox[l] = false; discard()
  :: else
  fi;
  d_step { !locked[l] -> /* W7 */
    popped = owner == l;
    far_waits = far_waits && l != 0;
    if
    :: popped -> leave(l); settle(l)
    :: else
    fi
  }
  if
  :: popped -> popped = false; discard()
  :: else
  fi
}

proctype memory() {
end:
  do
  :: d_step { adding != NOBODY && (owner_buffered || wake_buffered || unlock_buffered) -> drain_one() }
  :: d_step { clock == 0 -> clock = 1 }
  :: d_step { clock == 1 && !(live && deadline <= 1) -> clock = 2 }
  od
}

init {
  byte i, users = 1;

  atomic {
    wake_at[0] = FAR;
#if LOOPS == 2
    wake_at[1] = FOREVER;
#endif
    if
    :: through = true
    :: skip
    fi;
    if
    :: again = true
    :: skip
    fi;
    run memory();
    run submitter();
    do
    :: i < CANCELLERS -> run canceller(); i++
    :: else -> break
    od;
    i = 0;
    users = users + CANCELLERS;
#ifdef MOVE
    users++;
    run mover();
#endif
#ifdef CLOSE
    users++;
    run closer();
#endif
    do
    :: i < LOOPS -> run loop(i); i++
    :: else -> break
    od
  }
  finished == users && !live && !far_waits; /* W4, W5, W8 */
  assert(runs + drops == submissions && owner == NOBODY) /* J1 */
}
