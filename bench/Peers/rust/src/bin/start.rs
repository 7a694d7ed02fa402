//! tokio's program of the rows U3c to U5c: see CStart.h.

use std::time::Instant;

fn main() {
    let begun = Instant::now();
    let (ran, first) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.spawn(async move { ran.send(begun.elapsed()).unwrap() });
    let took = first.recv().unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("[{}, {}]", took.as_nanos(), peak.trim().trim_end_matches(" kB"));
}
