import BenchKit
import CBench
import Dispatch
import Foundation
import Scheduler
import Synchronization

// Groups, limits, barriers, results, merged values and descriptors: ours beside what Dispatch, Foundation or Swift has
// for the same.

private let workers = ConcurrentScheduler()
private let global = DispatchQueue.global()

// MARK: groups

/// Members that do nothing, all at once, until none is left.
private func ourGroup(_ count: Int) -> Double {
  let group = ActionGroup()
  return time {
    for _ in 0..<count { group.schedule(on: workers) {} }
    group.wait()
  }
}

private func dispatchGroup(_ count: Int) -> Double {
  let group = DispatchGroup()
  return time {
    for _ in 0..<count { global.async(group: group) {} }
    group.wait()
  }
}

private func taskGroup(_ count: Int) -> Double {
  let done = DispatchSemaphore(value: 0)
  return time {
    Task.detached {
      await withDiscardingTaskGroup { group in for _ in 0..<count { group.addTask {} } }
      done.signal()
    }
    done.wait()
  }
}

// MARK: results

private func ourResults(_ count: Int) -> Double {
  let results = ResultGroup<Int>()
  var sum = 0
  let took = time {
    for n in 0..<count { results.schedule(on: workers) { n } }
    while let result = results.next() { sum += (try? result.get()) ?? 0 }
  }
  precondition(sum == count * (count - 1) / 2)
  return took
}

private func taskResults(_ count: Int) -> Double {
  let done = DispatchSemaphore(value: 0)
  return time {
    Task.detached {
      let sum = await withTaskGroup(of: Int.self) { group in
        for n in 0..<count { group.addTask { n } }
        return await group.reduce(0, +)
      }
      precondition(sum == count * (count - 1) / 2)
      done.signal()
    }
    done.wait()
  }
}

// MARK: limits

private let limited = ConcurrentScheduler(limit: 2)
private let operations: OperationQueue = {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 2
  return queue
}()
private let permits = DispatchSemaphore(value: 2)

private let left = Atomic(0), last = DispatchSemaphore(value: 0)

private func untilAllRan(_ count: Int, _ submit: (@escaping @Sendable () -> Void) -> Void) -> Double {
  left.store(count, ordering: .relaxed)
  return time {
    for _ in 0..<count {
      submit { if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { last.signal() } }
    }
    last.wait()
  }
}

// MARK: barriers

private let readers = ConcurrentScheduler(limit: 64)
private let readersQueue = DispatchQueue(label: "readers", attributes: .concurrent)

/// Each sixteenth action alone.
private func mixed(
  _ count: Int, _ read: (@escaping @Sendable () -> Void) -> Void, _ write: (@escaping @Sendable () -> Void) -> Void
) -> Double {
  var n = 0
  return untilAllRan(count) { action in
    n += 1
    if n % 16 == 0 { write(action) } else { read(action) }
  }
}

// MARK: merged values

/// Adds up on this thread what a busy one is told of; until all has been told.
private func ourMerge(_ count: Int) -> Double {
  let thread = try! ThreadScheduler(), told = Atomic(0)
  let event = MergingEvent(on: thread, .sum) {
    if told.add(Int($0), ordering: .acquiringAndReleasing).newValue == count { last.signal() }
  }
  let took = time {
    for _ in 0..<count { event.merge(1) }
    last.wait()
  }
  event.dispose()
  thread.stop()
  thread.join()
  return took
}

private func dispatchMerge(_ count: Int) -> Double {
  let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "told")), told = Atomic(0)
  source.setEventHandler {
    if told.add(Int(source.data), ordering: .acquiringAndReleasing).newValue == count { last.signal() }
  }
  source.activate()
  let took = time {
    for _ in 0..<count { source.add(data: 1) }
    last.wait()
  }
  source.cancel()
  return took
}

// MARK: descriptors

/// A byte to a handler that reads it, and that says so; one after the other.
private func bytes(_ count: Int, _ begin: (_ reading: Int32, _ handler: @escaping @Sendable () -> Void) -> () -> Void)
  -> Double
{
  var ends: [Int32] = [0, 0]
  precondition(pipe(&ends) == 0)
  let reading = ends[0]
  let end = begin(reading) {
    var byte: UInt8 = 0
    precondition(read(reading, &byte, 1) == 1)
    last.signal()
  }
  var byte: UInt8 = 1
  let took = time {
    for _ in 0..<count {
      precondition(write(ends[1], &byte, 1) == 1)
      last.wait()
    }
  }
  end()
  close(ends[0])
  close(ends[1])
  return took
}

private func ourBytes(_ count: Int) -> Double {
  let thread = try! ThreadScheduler()
  return bytes(count) { reading, handler in
    let source = thread.onReadable(reading, handler)
    return {
      source.disposeAndWait()
      thread.stop()
      thread.join()
    }
  }
}

private func dispatchBytes(_ count: Int) -> Double {
  bytes(count) { reading, handler in
    let queue = DispatchQueue(label: "bytes"), isOver = DispatchSemaphore(value: 0)
    let source = DispatchSource.makeReadSource(fileDescriptor: reading, queue: queue)
    source.setEventHandler(handler: handler)
    source.setCancelHandler { isOver.signal() }
    source.activate()
    return {
      source.cancel()
      isOver.wait()
    }
  }
}

// MARK: cancellation

/// An action that schedules another one through its context, and a handler that it takes back, until both have ended.
private func ourContexts(_ count: Int) -> Double {
  let group = ActionGroup()
  return time {
    for _ in 0..<count {
      group.enter()
      workers.schedule { context in
        let handler = context.onDispose {}
        context.schedule(on: workers) { child in
          precondition(!child.isCancelled)
          group.leave()
        }
        handler.dispose()
      }
    }
    group.wait()
  }
}

/// The same of tasks: a child, and a handler.
private func taskContexts(_ count: Int) -> Double {
  let group = ActionGroup()
  return time {
    for _ in 0..<count {
      group.enter()
      Task.detached {
        await withTaskGroup(of: Void.self) { children in
          await withTaskCancellationHandler {
            children.addTask {
              precondition(!Task.isCancelled)
              group.leave()
            }
          } onCancel: {
          }
        }
      }
    }
    group.wait()
  }
}

private func many(_ name: String, _ role: Contender.Role, _ body: @escaping @Sendable (Int) -> Double) -> Contender {
  Contender(name, role, .operations(slices: 1, least: 10_000, body))
}

let togetherRows = [
  Row(
    "N1", "a group of closures that do nothing, until all have run; each",
    [
      many("ActionGroup", .ours, ourGroup), many("DispatchGroup", .dispatch, dispatchGroup),
      many("TaskGroup", .peer, taskGroup),
    ],
    targets: [.peer("DispatchGroup", 1)]),
  Row(
    "N2", "the results of closures, in the order in which they end; each",
    [many("ResultGroup", .ours, ourResults), many("TaskGroup", .peer, taskResults)], targets: [.peer("TaskGroup", 1)]),
  Row(
    "N3", "closures that do nothing, two at a time, until all have run; each",
    [
      many("ConcurrentScheduler(limit:)", .ours) { untilAllRan($0) { limited.schedule($0) } },
      many("OperationQueue", .peer) { untilAllRan($0) { operations.addOperation($0) } },
      many("global async, semaphore", .dispatch) { count in
        untilAllRan(count) { action in
          permits.wait()
          global.async {
            action()
            permits.signal()
          }
        }
      },
    ], targets: [.peer("OperationQueue", 0.3), .peer("global async, semaphore", 1)]),
  Row(
    "N4", "closures that do nothing, each sixteenth alone, until all have run; each",
    [
      many("BarrierScheduler", .ours) { count in
        let barrier = readers.barrier
        return mixed(count, { readers.schedule($0) }, { barrier.schedule($0) })
      },
      many("Dispatch's barrier", .dispatch) { count in
        mixed(count, { readersQueue.async(execute: $0) }, { readersQueue.async(flags: .barrier, execute: $0) })
      },
    ], targets: [.peer("Dispatch's barrier", 1)]),
  Row(
    "N5", "ones that are added up for a handler on another thread, until it has had all; each",
    [many("MergingEvent", .ours, ourMerge), many("user data source", .dispatch, dispatchMerge)],
    targets: [.peer("user data source", 1)]),
  Row(
    "N6", "a byte through a pipe to a handler that reads it, one after the other",
    [many("onReadable", .ours, ourBytes), many("read source", .dispatch, dispatchBytes)],
    targets: [.peer("read source", 1)]),
  Row(
    "N7", "an action, a handler of its cancellation, and an action below it, until both have ended; each",
    [many("ActionContext", .ours, ourContexts), many("child task", .peer, taskContexts)],
    targets: [.peer("child task", 1)]),
]
