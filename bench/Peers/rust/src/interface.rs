//! CBenchPeer.h, for Rust.
#![allow(dead_code)]

use std::os::raw::{c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

#[repr(C)]
pub struct Task {
    pub count: c_long,
    pub over: *const c_int,
    pub looks: c_int,
    pub inside: c_int,
    pub outside: c_int,
    pub work: extern "C" fn(c_int),
    pub now: extern "C" fn() -> u64,
    pub guarded: *mut c_long,
    pub done: c_long,
    pub longest: u64,
    pub passed: c_long,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Lock {
    pub name: *const c_char,
    pub use_it: Option<unsafe extern "C" fn(*mut Task)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Queue {
    pub name: *const c_char,
    pub make: Option<unsafe extern "C" fn(c_int, c_long) -> *mut c_void>,
    pub produce: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    pub consume: Option<unsafe extern "C" fn(*mut c_void)>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pool {
    pub name: *const c_char,
    pub prepare: Option<unsafe extern "C" fn(c_long)>,
    pub run: Option<unsafe extern "C" fn(c_long)>,
    pub fib: Option<unsafe extern "C" fn(c_int, c_int) -> c_long>,
    pub spawn: Option<unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timers {
    pub name: *const c_char,
    pub most: c_long,
    pub make: Option<unsafe extern "C" fn(c_long, *const u32) -> *mut c_void>,
    pub newest: Option<unsafe extern "C" fn(*mut c_void, c_long, *const u32)>,
    pub replaced: Option<unsafe extern "C" fn(*mut c_void, c_long, *const u32, *const u32)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Trip {
    pub name: *const c_char,
    pub open: Option<unsafe extern "C" fn() -> *mut c_void>,
    pub trip: Option<unsafe extern "C" fn(*mut c_void)>,
    pub close: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
pub struct Library {
    pub locks: *const Lock,
    pub queues: *const Queue,
    pub sleeping_queues: *const Queue,
    pub pools: *const Pool,
    pub timers: *const Timers,
    pub trips: *const Trip,
    pub hosted_trips: *const Trip,
}

#[repr(C)]
pub struct Harness {
    pub work: extern "C" fn(c_int),
    pub now: extern "C" fn() -> u64,
    pub fib: extern "C" fn(c_long) -> c_long,
    pub processors: c_int,
}

/// Tables of constants and pointers to functions: any thread may read them.
pub struct Table<T>(pub T);
unsafe impl<T> Sync for Table<T> {}
unsafe impl<T> Send for Table<T> {}

static HARNESS: AtomicPtr<Harness> = AtomicPtr::new(std::ptr::null_mut());

pub fn set_harness(harness: *const Harness) {
    HARNESS.store(harness as *mut Harness, Ordering::Release);
}

pub fn harness() -> &'static Harness {
    unsafe { &*HARNESS.load(Ordering::Acquire) } // peer_open comes first
}

/// What is made at the first call, and stays. The harness calls from one thread.
pub struct Once<T>(AtomicPtr<T>);

impl<T> Once<T> {
    pub const fn new() -> Self {
        Once(AtomicPtr::new(std::ptr::null_mut()))
    }
    pub fn get(&self, make: impl FnOnce() -> T) -> &'static T {
        if self.0.load(Ordering::Acquire).is_null() {
            self.0.store(Box::leak(Box::new(make())), Ordering::Release);
        }
        unsafe { &*self.0.load(Ordering::Acquire) }
    }
}

pub fn processors() -> usize {
    harness().processors as usize
}

/// A C string that is a constant.
macro_rules! name {
    ($text:literal) => {
        concat!($text, "\0").as_ptr() as *const std::os::raw::c_char
    };
}
pub(crate) use name;
