import Foundation
import Scheduler
import SchedulerExecutors
import Testing
import XCTest

/// The main thread of XCTest's runner is in Foundation's main loop, and nothing runs ours. That of Swift Testing's runs
/// an `async` main.
@MainActor final class RunnerTests: XCTestCase {
  func testASyncBody() { XCTAssertTrue(Thread.isMainThread && GlobalExecutors.isInstalled) }

  func testAnAsyncBody() async throws {
    try await Task.sleep(for: .milliseconds(1))
    XCTAssertTrue(Thread.isMainThread)
    MainActor.assertIsolated()
  }

  func testAnActionAndAnExpectation() async {
    let ran = expectation(description: "an action of the main scheduler runs")
    MainScheduler.instance.schedule(after: .milliseconds(1)) { ran.fulfill() }
    await fulfillment(of: [ran], timeout: 60)
  }

  nonisolated func testAWaitOnTheMainThread() {
    let ran = expectation(description: "a task of the main actor runs while the main thread waits")
    Task.detached { await MainActor.run { ran.fulfill() } }
    wait(for: [ran], timeout: 60)
  }
}

@Test @MainActor func anAsyncBodyOnTheMainActor() async throws {
  try await Task.sleep(for: .milliseconds(1))
  #expect(Thread.isMainThread)
}
