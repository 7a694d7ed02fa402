//! parking_lot's lock and the standard library's. The loop is lock_loop.h's, with the lock inlined.

use crate::interface::{name, Lock, Table, Task};
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering::Relaxed};

#[repr(align(128))]
struct Aligned<T>(T);

static PARKING_LOT: Aligned<parking_lot::Mutex<()>> = Aligned(parking_lot::const_mutex(()));
static STANDARD: Aligned<std::sync::Mutex<()>> = Aligned(std::sync::Mutex::new(()));

/// Sections without work, whose waits nobody looks at.
#[inline(always)]
unsafe fn empty_sections<G>(task: &Task, lock: &impl Fn() -> G, unlock: &impl Fn(G)) -> i64 {
    let over = task.over as *const AtomicI32;
    let count = task.count as i64;
    let guarded = &*(task.guarded as *const AtomicI64);
    let section = || {
        let guard = lock();
        guarded.store(guarded.load(Relaxed) + 1, Relaxed);
        unlock(guard);
    };
    let mut done = 0;
    if over.is_null() {
        while done < count {
            section();
            done += 1;
        }
    } else {
        while (*over).load(Relaxed) == 0 {
            section();
            done += 1;
        }
    }
    done
}

#[inline(always)]
unsafe fn working_sections<G>(task: &mut Task, lock: &impl Fn() -> G, unlock: &impl Fn(G)) -> i64 {
    let over = task.over as *const AtomicI32;
    let (count, looks, inside, outside) = (task.count as i64, task.looks, task.inside, task.outside);
    let guarded = &*(task.guarded as *const AtomicI64);
    let mut done = 0;
    while if over.is_null() { done < count } else { (*over).load(Relaxed) == 0 } {
        let (mut before, mut start) = (0, 0);
        if looks != 0 {
            before = guarded.load(Relaxed);
            start = (task.now)();
        }
        let guard = lock();
        if looks != 0 {
            let took = (task.now)() - start;
            let passed = guarded.load(Relaxed) - before;
            task.longest = task.longest.max(took);
            task.passed = task.passed.max(passed as _);
        }
        guarded.store(guarded.load(Relaxed) + 1, Relaxed);
        if inside > 0 {
            (task.work)(inside);
        }
        unlock(guard);
        if outside > 0 {
            (task.work)(outside);
        }
        done += 1;
    }
    done
}

#[inline(always)]
unsafe fn lock_loop<G>(task: *mut Task, lock: impl Fn() -> G, unlock: impl Fn(G)) {
    let task = &mut *task;
    let works = task.looks != 0 || task.inside > 0 || task.outside > 0;
    let done = if works { working_sections(task, &lock, &unlock) } else { empty_sections(task, &lock, &unlock) };
    task.done = done as _;
}

unsafe extern "C" fn use_parking_lot(task: *mut Task) {
    lock_loop(task, || PARKING_LOT.0.lock(), drop)
}

unsafe extern "C" fn use_fair(task: *mut Task) {
    lock_loop(task, || PARKING_LOT.0.lock(), parking_lot::MutexGuard::unlock_fair)
}

unsafe extern "C" fn use_standard(task: *mut Task) {
    lock_loop(task, || STANDARD.0.lock().unwrap(), drop)
}

pub static LOCKS: Table<[Lock; 4]> = Table([
    Lock { name: name!("parking_lot"), use_it: Some(use_parking_lot) },
    Lock { name: name!("parking_lot fair"), use_it: Some(use_fair) },
    Lock { name: name!("Rust std"), use_it: Some(use_standard) },
    Lock { name: std::ptr::null(), use_it: None },
]);
