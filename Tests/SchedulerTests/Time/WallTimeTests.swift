import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct WallTimeTests {
  @Test("a wall time is made of seconds: early ones are held at 1970, late ones and NaN never pass")
  func seconds() {
    #expect(WallTime(secondsSince1970: 0).nanosecondsSince1970 == 0)
    #expect(WallTime(secondsSince1970: 1.5).nanosecondsSince1970 == 1_500_000_000)
    #expect(WallTime(secondsSince1970: 1e-10).nanosecondsSince1970 == 1)  // rounded up: never early
    #expect(WallTime(secondsSince1970: 1_700_000_000.25).nanosecondsSince1970 == 1_700_000_000_250_000_000)
    for early in [-0.0, -1e-300, -1, -1e18, -Double.greatestFiniteMagnitude, -Double.infinity] {
      #expect(WallTime(secondsSince1970: early).nanosecondsSince1970 == 0)
    }
    for late in [18_446_744_074, 1e18, Double.greatestFiniteMagnitude, .infinity, .nan, -.nan, .signalingNaN] {
      #expect(WallTime(secondsSince1970: late) == .never)
    }
    #expect(WallTime(secondsSince1970: 18_446_744_072).nanosecondsSince1970 == 18_446_744_072_000_000_000)
    #expect(WallTime(nanosecondsSince1970: 2_500_000_000).secondsSince1970 == 2.5)
  }

  @Test("wall times are moved, measured and compared, and held at their ends") func arithmetic() {
    let wall = WallTime(nanosecondsSince1970: 100)
    #expect(wall.advanced(by: .nanoseconds(5)).nanosecondsSince1970 == 105)
    #expect(wall.advanced(by: .nanoseconds(-100)).nanosecondsSince1970 == 0)
    #expect(wall.advanced(by: .seconds(-1)).nanosecondsSince1970 == 0)
    #expect(wall.advanced(by: .seconds(Int64.max)) == .never)
    #expect(wall.advanced(by: .seconds(Int64.min)).nanosecondsSince1970 == 0)
    #expect(WallTime.never.advanced(by: .seconds(1)) == .never)
    #expect(wall.duration(to: wall.advanced(by: .seconds(3))) == .seconds(3))
    #expect(wall.advanced(by: .seconds(3)).duration(to: wall) == .seconds(-3))
    #expect(wall.duration(to: .never) == .nanoseconds(Int64.max))
    #expect(wall < .never && !(wall < wall) && Set([wall, wall]).count == 1)
  }

  @Test("the wall clock is in this century") func now() {
    #expect(WallTime.now.secondsSince1970 > 1_600_000_000)
  }
}
