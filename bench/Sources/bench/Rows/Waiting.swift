import BenchKit
import CBench

/// Ours and the C library's, each called with whether it is ours.
private func both(
  _ ours: String, _ peer: String, least: Int = 1, _ body: @escaping @Sendable (Bool, Int) -> Double
) -> [Contender] {
  [(ours, Contender.Role.ours), (peer, .peer)].map { name, role in
    Contender(name, role, .operations(slices: 10, least: least) { body(role == .ours, $0) })
  }
}

let waitingRows: [Row] = [
  Row(
    "V1", "a recursive lock taken twice and given back, alone, in C",
    both("csched_rlock", "pthread recursive") { cbench_rlock_alone($0, $1) }, targets: [.peer("pthread recursive", 1)]),
  Row(
    "V2", "a semaphore's unit given and taken, alone, in C",
    both("csched_semaphore", "sem_t") { cbench_semaphore_alone($0, $1) }, targets: [.peer("sem_t", 1)]),
  Row(
    "V3", "round trip of 2 threads by two semaphores, in C",
    both("csched_semaphore", "sem_t") { cbench_semaphore_trips($0, CBENCH_FREE, $1) }, targets: [.peer("sem_t", 1.1)]),
  Row(
    "V4", "round trip of 2 threads by a condition, in C",
    both("csched_cond", "pthread_cond") { cbench_cond_trips($0, CBENCH_FREE, $1) },
    targets: [.peer("pthread_cond", 1.1)]),
  Row(
    "V5", "a broadcast to 16 waiting threads, until all wait again, in C",
    both("csched_cond", "pthread_cond") { cbench_cond_broadcasts($0, 16, $1) }, targets: [.peer("pthread_cond", 1.1)]),
  Row(
    "V6", "a read-write lock taken for reading and given back, alone, in C",
    both("csched_rwlock", "pthread_rwlock") { cbench_rwlock_alone($0, false, $1) },
    targets: [.peer("pthread_rwlock", 1)]),
  Row(
    "V7", "a read-write lock taken for writing and given back, alone, in C",
    both("csched_rwlock", "pthread_rwlock") { cbench_rwlock_alone($0, true, $1) },
    targets: [.peer("pthread_rwlock", 1)]),
  Row(
    "V8", "a read-write lock of 4 threads, one in 16 writes, 1 µs inside, in C",
    both("csched_rwlock", "pthread_rwlock") { cbench_rwlock_shared($0, 4, $1) },
    targets: [.peer("pthread_rwlock", 1.1)]),
]
