import BenchKit
import CBench
import Foundation

private func limit(_ id: String, _ work: String, slices: Int = 10, _ body: @escaping @Sendable (Int) -> Double) -> Row {
  Row(id, work, [Contender(id, .limit, .operations(slices: slices, least: 1, body))])
}

/// What the machine can do at best; the rows are held against it.
let limitRows = [
  limit("L0", "one compare-and-exchange, one plain release store") { cbench_cas_store($0) },
  limit("L0s", "a symmetric pair of locked operations") { cbench_cas_cas($0) },
  limit("CAS", "a bare compare-and-exchange on a hot line") { cbench_hot_cas($0) },
  limit("L1", "a cache line goes from one processor to another", slices: 1) { cbench_line_transfer($0) },
  limit("L2", "fetch_add on one line by two threads, each operation", slices: 1) {
    cbench_shared_add(2, CBENCH_FREE, $0)
  },
  limit("L2-pinned", "the same, each thread on a processor of its own", slices: 1) {
    cbench_shared_add(2, CBENCH_APART, $0)
  },
  limit("L3", "futex wait and wake, a round trip", slices: 1) { cbench_futex_round_trip(CBENCH_FREE, $0) },
  limit("L3-pinned", "the same, each thread on a processor of its own", slices: 1) {
    cbench_futex_round_trip(CBENCH_APART, $0)
  },
  limit("L3-one", "the same, both threads on one processor", slices: 1) {
    cbench_futex_round_trip(CBENCH_TOGETHER, $0)
  },
  limit("L4", "eventfd and epoll, a round trip, both threads on one processor", slices: 1) {
    cbench_epoll_round_trip($0)
  },
  Row(
    "L5", "lateness of an absolute sleep of 1 ms, slack 1 ns, p50",
    [
      Contender(
        "L5", .limit,
        .latencies(count: 40) { count in
          var late = [UInt64](repeating: 0, count: count)
          cbench_sleep_lateness(count, 1_000_000, &late)
          return late
        })
    ]),
  limit("L6", "into a list of a million nodes at random, and out") { cbench_list($0) },
  limit("L7c", "an indirect call") { cbench_indirect_call($0) },
  limit("L7", "an indirect call, malloc and free") { cbench_indirect_call($0) + cbench_malloc_free($0) },
  Row(
    "L8", "speed-up of raw threads, one for each processor", unit: "×", isMost: true,
    [
      Contender(
        "L8", .limit,
        .figures(rounds: 12) {
          let all = cbench_processors()
          return [Double(all) * cbench_threads(1, 32) / cbench_threads(all, 32)]
        })
    ]),
]
