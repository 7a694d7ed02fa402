//! Round trips over two channels: crossbeam's, the standard library's, and tokio's between two runtimes of one thread.

use crate::interface::{name, Table, Trip};
use std::os::raw::c_void;
use std::thread::JoinHandle;

trait Pair {
    fn open() -> Self;
    fn trip(&mut self);
    fn close(self);
}

unsafe extern "C" fn open<P: Pair>() -> *mut c_void {
    Box::into_raw(Box::new(P::open())) as *mut c_void
}

unsafe extern "C" fn trip<P: Pair>(pair: *mut c_void) {
    (*(pair as *mut P)).trip()
}

unsafe extern "C" fn close<P: Pair>(pair: *mut c_void) {
    Box::from_raw(pair as *mut P).close()
}

const fn pair<P: Pair>(name: *const std::os::raw::c_char) -> Trip {
    Trip { name, open: Some(open::<P>), trip: Some(trip::<P>), close: Some(close::<P>) }
}

struct Crossbeam(crossbeam_channel::Sender<u64>, crossbeam_channel::Receiver<u64>, JoinHandle<()>);

impl Pair for Crossbeam {
    fn open() -> Self {
        let (call, calls) = crossbeam_channel::unbounded();
        let (answer, answers) = crossbeam_channel::unbounded();
        let far = std::thread::spawn(move || {
            for value in calls {
                let _ = answer.send(value);
            }
        });
        Crossbeam(call, answers, far)
    }
    fn trip(&mut self) {
        self.0.send(1).unwrap();
        self.1.recv().unwrap();
    }
    fn close(self) {
        drop(self.0);
        self.2.join().unwrap();
    }
}

struct Standard(std::sync::mpsc::Sender<u64>, std::sync::mpsc::Receiver<u64>, JoinHandle<()>);

impl Pair for Standard {
    fn open() -> Self {
        let (call, calls) = std::sync::mpsc::channel();
        let (answer, answers) = std::sync::mpsc::channel();
        let far = std::thread::spawn(move || {
            for value in calls {
                let _ = answer.send(value);
            }
        });
        Standard(call, answers, far)
    }
    fn trip(&mut self) {
        self.0.send(1).unwrap();
        self.1.recv().unwrap();
    }
    fn close(self) {
        drop(self.0);
        self.2.join().unwrap();
    }
}

struct Tokio {
    call: tokio::sync::mpsc::UnboundedSender<u64>,
    answers: tokio::sync::mpsc::UnboundedReceiver<u64>,
    near: tokio::runtime::Runtime,
    far: JoinHandle<()>,
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

impl Pair for Tokio {
    fn open() -> Self {
        let (call, mut calls) = tokio::sync::mpsc::unbounded_channel();
        let (answer, answers) = tokio::sync::mpsc::unbounded_channel();
        let far = std::thread::spawn(move || {
            runtime().block_on(async move {
                while let Some(value) = calls.recv().await {
                    let _ = answer.send(value);
                }
            })
        });
        Tokio { call, answers, near: runtime(), far }
    }
    fn trip(&mut self) {
        self.call.send(1).unwrap();
        let answers = &mut self.answers;
        self.near.block_on(async { answers.recv().await.unwrap() });
    }
    fn close(self) {
        drop(self.call);
        self.far.join().unwrap();
    }
}

pub static TRIPS: Table<[Trip; 4]> = Table([
    pair::<Crossbeam>(name!("crossbeam channel")),
    pair::<Standard>(name!("Rust std channel")),
    pair::<Tokio>(name!("tokio channel")),
    Trip { name: std::ptr::null(), open: None, trip: None, close: None },
]);
