//! rayon and tokio as pools.

use crate::interface::{harness, name, processors, Once, Pool, Table};
use std::os::raw::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicI64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::sync::Mutex;
use std::thread::Thread;

static LEFT: AtomicI64 = AtomicI64::new(0);
static WAITER: Mutex<Option<Thread>> = Mutex::new(None);

fn count_down() {
    if LEFT.fetch_sub(1, AcqRel) == 1 {
        WAITER.lock().unwrap().as_ref().unwrap().unpark();
    }
}

/// Has `spawn` submit so many jobs, and waits until all have run.
fn run_all(count: c_long, spawn: impl Fn()) {
    *WAITER.lock().unwrap() = Some(std::thread::current());
    LEFT.store(count as i64, Release);
    for _ in 0..count {
        spawn();
    }
    while LEFT.load(Acquire) > 0 {
        std::thread::park();
    }
}

fn rayon_pool() -> &'static rayon::ThreadPool {
    static POOL: Once<rayon::ThreadPool> = Once::new();
    POOL.get(|| rayon::ThreadPoolBuilder::new().num_threads(processors()).build().unwrap())
}

unsafe extern "C" fn rayon_run(count: c_long) {
    let pool = rayon_pool();
    run_all(count, || pool.spawn(count_down));
}

fn fib(n: c_long, leaf: c_long) -> c_long {
    if n <= leaf {
        return (harness().fib)(n);
    }
    let (a, b) = rayon::join(|| fib(n - 1, leaf), || fib(n - 2, leaf));
    a + b
}

unsafe extern "C" fn rayon_fib(n: c_int, leaf: c_int) -> c_long {
    rayon_pool().install(|| fib(n as c_long, leaf as c_long))
}

fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: Once<tokio::runtime::Runtime> = Once::new();
    RUNTIME.get(|| tokio::runtime::Builder::new_multi_thread().worker_threads(processors()).build().unwrap())
}

unsafe extern "C" fn tokio_run(count: c_long) {
    let runtime = runtime();
    run_all(count, || {
        runtime.spawn(async { count_down() });
    });
}

/// A call that may be made on another thread: the harness's context may.
struct Call(extern "C" fn(*mut c_void), *mut c_void);
unsafe impl Send for Call {}

impl Call {
    fn make(self) {
        (self.0)(self.1)
    }
}

unsafe extern "C" fn rayon_spawn(work: extern "C" fn(*mut c_void), context: *mut c_void) {
    let call = Call(work, context);
    rayon_pool().spawn(move || call.make());
}

unsafe extern "C" fn tokio_spawn(work: extern "C" fn(*mut c_void), context: *mut c_void) {
    let call = Call(work, context);
    runtime().spawn(async move { call.make() });
}

pub static POOLS: Table<[Pool; 3]> = Table([
    Pool { name: name!("rayon"), prepare: None, run: Some(rayon_run), fib: Some(rayon_fib), spawn: Some(rayon_spawn) },
    Pool { name: name!("tokio"), prepare: None, run: Some(tokio_run), fib: None, spawn: Some(tokio_spawn) },
    Pool { name: std::ptr::null(), prepare: None, run: None, fib: None, spawn: None },
]);
