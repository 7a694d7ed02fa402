//! crossbeam's queue and channel, and the standard library's channel.

use crate::interface::{name, Queue, Table};
use std::os::raw::{c_int, c_long, c_void};
use std::sync::Mutex;

type Item = usize;

trait Flow: Sync {
    fn open(producers: usize) -> Self;
    /// Appends `count` items for the producer with this number.
    fn send(&self, producer: usize, count: c_long);
    fn receive(&self, count: c_long);
}

struct Made<F> {
    flow: F,
    each: c_long,
    all: c_long,
}

/// All items go through once, so that the memory is there and has been written to.
unsafe extern "C" fn make<F: Flow>(producers: c_int, each: c_long) -> *mut c_void {
    let made = Made { flow: F::open(producers as usize), each, all: each * producers as c_long };
    for producer in 0..producers as usize {
        made.flow.send(producer, each);
    }
    made.flow.receive(made.all);
    Box::into_raw(Box::new(made)) as *mut c_void
}

unsafe extern "C" fn produce<F: Flow>(made: *mut c_void, producer: c_int) {
    let made = &*(made as *const Made<F>);
    made.flow.send(producer as usize, made.each);
}

unsafe extern "C" fn consume<F: Flow>(made: *mut c_void) {
    let made = &*(made as *const Made<F>);
    made.flow.receive(made.all);
}

unsafe extern "C" fn destroy<F: Flow>(made: *mut c_void) {
    drop(Box::from_raw(made as *mut Made<F>));
}

const fn queue<F: Flow>(name: *const std::os::raw::c_char) -> Queue {
    Queue { name, make: Some(make::<F>), produce: Some(produce::<F>), consume: Some(consume::<F>), destroy: Some(destroy::<F>) }
}

fn look_away() {
    for _ in 0..8 {
        std::hint::spin_loop();
    }
}

struct Segments(crossbeam_queue::SegQueue<Item>);

impl Flow for Segments {
    fn open(_: usize) -> Self {
        Segments(crossbeam_queue::SegQueue::new())
    }
    fn send(&self, _: usize, count: c_long) {
        for i in 0..count {
            self.0.push(i as Item);
        }
    }
    fn receive(&self, count: c_long) {
        let mut left = count;
        while left > 0 {
            match self.0.pop() {
                Some(_) => left -= 1,
                None => look_away(),
            }
        }
    }
}

struct Channel(crossbeam_channel::Sender<Item>, crossbeam_channel::Receiver<Item>);

impl Flow for Channel {
    fn open(_: usize) -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded();
        Channel(sender, receiver)
    }
    fn send(&self, _: usize, count: c_long) {
        let sender = self.0.clone();
        for i in 0..count {
            sender.send(i as Item).unwrap();
        }
    }
    fn receive(&self, count: c_long) {
        for _ in 0..count {
            self.1.recv().unwrap();
        }
    }
}

struct Standard {
    senders: Vec<Mutex<std::sync::mpsc::Sender<Item>>>,
    receiver: Mutex<std::sync::mpsc::Receiver<Item>>,
}

impl Flow for Standard {
    fn open(producers: usize) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        Standard { senders: (0..producers).map(|_| Mutex::new(sender.clone())).collect(), receiver: Mutex::new(receiver) }
    }
    fn send(&self, producer: usize, count: c_long) {
        let sender = self.senders[producer].lock().unwrap(); // once, and nobody else's
        for i in 0..count {
            sender.send(i as Item).unwrap();
        }
    }
    fn receive(&self, count: c_long) {
        let receiver = self.receiver.lock().unwrap();
        for _ in 0..count {
            receiver.recv().unwrap();
        }
    }
}

const END: Queue = Queue { name: std::ptr::null(), make: None, produce: None, consume: None, destroy: None };

pub static QUEUES: Table<[Queue; 2]> = Table([queue::<Segments>(name!("crossbeam SegQueue")), END]);
pub static SLEEPING_QUEUES: Table<[Queue; 3]> =
    Table([queue::<Channel>(name!("crossbeam channel")), queue::<Standard>(name!("Rust std channel")), END]);
