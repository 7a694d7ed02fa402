mod interface;
mod locks;
mod pools;
mod queues;
mod timers;
mod trips;

use interface::{set_harness, Harness, Library, Table};

static LIBRARY: Table<Library> = Table(Library {
    locks: locks::LOCKS.0.as_ptr(),
    queues: queues::QUEUES.0.as_ptr(),
    sleeping_queues: queues::SLEEPING_QUEUES.0.as_ptr(),
    pools: pools::POOLS.0.as_ptr(),
    timers: timers::TIMERS.0.as_ptr(),
    trips: trips::TRIPS.0.as_ptr(),
    hosted_trips: std::ptr::null(),
});

#[no_mangle]
pub extern "C" fn peer_open(harness: *const Harness) -> *const Library {
    set_harness(harness);
    &LIBRARY.0
}
