// A program whose schedulers are seen by swift-metrics, swift-log and swift-distributed-tracing: it looks up pictures
// in a database and decodes them.

import Bridges
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import Scheduler
import Tracing

// What a program says once, at its start. These backends print, and keep in memory; yours send to Prometheus, to
// OpenTelemetry, or to a file.
let tracer = InMemoryTracer()
LoggingSystem.bootstrap(StreamLogHandler.standardOutput, metadataProvider: .currentScheduler)
MetricsSystem.bootstrap(StreamMetricsFactory.standardOutput())
InstrumentationSystem.bootstrap(tracer)

let database = try ThreadScheduler(name: "database")
let decoders = ConcurrentScheduler(name: "decoders", limit: 2)

// The bridges.
let watching = try Logger(label: "schedulers").logSchedulers(longerThan: .milliseconds(50))
let publisher = SerialScheduler(name: "publisher")
let publishing = try Schedulers.publishStatistics(
  of: ["database": database, "decoders": decoders], every: .milliseconds(100), on: publisher)

let log = Logger(label: "pictures")

/// Spends so much time, as work would.
@Sendable func work(_ milliseconds: Int) { _ = CountingSemaphore().wait(for: .milliseconds(milliseconds)) }

/// Looks up a picture, decodes it, and counts down; each on its own thread, and all in the trace of the request.
@Sendable func show(_ picture: String, taking milliseconds: Int, _ done: ActionGroup) {
  tracer.withSpan("request \(picture)") { _ in
    _ = database.traced("look up").schedule {
      work(2)
      decoders.traced("decode").schedule {
        work(milliseconds)
        log.info("decoded \(picture)")  // with the metadata scheduler=decoders
        done.leave()
      }
    }
  }
}

let all = ActionGroup(entered: 4)
for (picture, time) in [("a", 10), ("b", 10), ("c", 150), ("d", 10)] { show(picture, taking: time, all) }
let unwanted = database.traced("look up").schedule(after: .seconds(60)) { log.error("never looked up") }
unwanted.dispose()  // its span ends here
all.wait()

database.stop()
database.join()
database.traced("look up").schedule { log.error("never looked up") }  // refused: an error in the log, and in the trace

work(150)  // for one more publication
publishing.disposeAndWait()
watching.dispose()
Schedulers.stopCounting()

// What the tracer has: each look-up below its request, each decoding below its look-up.
let spans = tracer.finishedSpans
@MainActor func printSpans(below parent: String?, indent: String) {
  for span in spans where span.parentSpanID == parent {
    if case .string(let outcome) = span.attributes.get("scheduler.outcome") {
      print("\(indent)\(span.operationName): \(outcome)")
    } else {
      print("\(indent)\(span.operationName)")
    }
    printSpans(below: span.spanID, indent: indent + "  ")
  }
}
printSpans(below: nil, indent: "")

let decoded = spans.filter { $0.operationName == "decode" }
guard decoded.count == 4, Set(decoded.map(\.traceID)).count == 4, tracer.activeSpans.isEmpty else {
  fatalError("\(decoded.count) pictures were decoded, \(tracer.activeSpans.count) spans have no end")
}
Schedulers.shutdown()
