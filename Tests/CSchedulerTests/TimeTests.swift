import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct TimeTests {
    @Test("time does not run backwards") func monotonic() {
      var last = csched_now()
      for _ in 0..<10_000 {
        let now = csched_now()
        #expect(now >= last)
        last = now
      }
    }

    @Test("an instant after another saturates, and a negative span counts as zero") func saturates() {
      #expect(csched_time_after(5, 7) == 12)
      #expect(csched_time_after(5, 0) == 5)
      #expect(csched_time_after(5, -7) == 5)
      #expect(csched_time_after(5, .min) == 5)
      #expect(csched_time_after(.max - 1, .max) == .max)
      #expect(csched_time_after(.max, 1) == .max)
      #expect(csched_time_after(0, .max) == UInt64(Int64.max))
    }
  }

  @Suite struct FailureTests {
    @Test("a failure names the file, the line and the function in C, the first one's") func names() {
      var line: Int32 = 0
      let text = failure(of: ctest_fails(&line))
      #expect(text?.hasSuffix("Tests/CTests/kernel.c:\(line): ctest_fails: 1 + 1 is 2, not 3") == true, "\(text ?? "")")
    }
  }
}
