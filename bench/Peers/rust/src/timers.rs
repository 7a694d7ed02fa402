//! tokio's timers, in a runtime of one thread.

use crate::interface::{name, Table, Timers};
use std::future::Future;
use std::os::raw::{c_long, c_void};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep_until, Instant, Sleep};

struct Nobody;
impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

struct Wheel {
    runtime: Runtime,
    start: Instant,
    pending: Vec<Pin<Box<Sleep>>>,
    waker: Waker,
}

fn at(start: Instant, milliseconds: u32) -> Instant {
    start + Duration::from_millis(milliseconds as u64)
}

unsafe extern "C" fn make(pending: c_long, milliseconds: *const u32) -> *mut c_void {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let waker = Waker::from(Arc::new(Nobody));
    let mut wheel = Wheel { runtime, start: Instant::now(), pending: Vec::with_capacity(pending as usize), waker };
    {
        let _inside = wheel.runtime.enter();
        for i in 0..pending as usize {
            let mut sleep = Box::pin(sleep_until(at(wheel.start, *milliseconds.add(i))));
            let _ = sleep.as_mut().poll(&mut Context::from_waker(&wheel.waker));
            wheel.pending.push(sleep);
        }
    }
    Box::into_raw(Box::new(wheel)) as *mut c_void
}

unsafe extern "C" fn newest(wheel: *mut c_void, count: c_long, milliseconds: *const u32) {
    let wheel = &*(wheel as *const Wheel);
    let _inside = wheel.runtime.enter();
    let mut context = Context::from_waker(&wheel.waker);
    for i in 0..count as usize {
        let sleep = sleep_until(at(wheel.start, *milliseconds.add(i)));
        tokio::pin!(sleep);
        let _ = sleep.as_mut().poll(&mut context);
    }
}

unsafe extern "C" fn replaced(wheel: *mut c_void, count: c_long, which: *const u32, milliseconds: *const u32) {
    let wheel = &mut *(wheel as *mut Wheel);
    let _inside = wheel.runtime.enter();
    let mut context = Context::from_waker(&wheel.waker);
    for i in 0..count as usize {
        let sleep = &mut wheel.pending[*which.add(i) as usize];
        sleep.as_mut().reset(at(wheel.start, *milliseconds.add(i)));
        let _ = sleep.as_mut().poll(&mut context);
    }
}

pub static TIMERS: Table<[Timers; 2]> = Table([
    Timers { name: name!("tokio"), most: 0, make: Some(make), newest: Some(newest), replaced: Some(replaced) },
    Timers { name: std::ptr::null(), most: 0, make: None, newest: None, replaced: None },
]);
