import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct VirtualTests {
    @Test("virtual time runs in the order of ticks and of submission") func order() {
      let seed = freshSeed("virtual time runs in the order of ticks and of submission")
      for span: csched_time in [10, 300, 1 << 30, 1 << 62] {
        #expect(failure(of: ctest_virtual_order(Scale.count(2_000), span, seed)) == nil)
      }
      #expect(failure(of: ctest_virtual_inside()) == nil)
    }

    @Test("a million timers over two hundred virtual years") func million() {
      let seed = freshSeed("a million timers over two hundred virtual years")
      #expect(failure(of: ctest_virtual_million(1_000_000, seed)) == nil)
    }

    @Test("who moves virtual time while it is moved widens that") func widened() {
      #expect(failure(of: ctest_virtual_widened()) == nil)
    }

    @Test("virtual time runs serial queues") func serial() {
      #expect(failure(of: ctest_virtual_serial()) == nil)
      #expect(failure(of: ctest_virtual_serial_in_its_place()) == nil)
      #expect(failure(of: ctest_virtual_sync_beside_another()) == nil)
      #expect(failure(of: ctest_virtual_sync_races(Scale.count(1_000))) == nil)
    }

    @Test("a virtual run ends") func runEnds() { #expect(failure(of: ctest_virtual_run_ends()) == nil) }

    @Test("steps of virtual time count what runs") func steps() { #expect(failure(of: ctest_virtual_steps()) == nil) }

    @Test("the end of virtual time") func endOfTime() { #expect(failure(of: ctest_virtual_end_of_time()) == nil) }

    @Test("who waits in virtual time drives when nobody does") func waiterDrives() {
      #expect(failure(of: ctest_virtual_sync_drives()) == nil)
    }

    @Test("virtual time that is closed drops what waits, and refuses the rest") func closed() {
      #expect(failure(of: ctest_virtual_closed()) == nil)
    }

    @Test("cancelled jobs in virtual time leave nothing behind") func cancelledGo() {
      #expect(failure(of: ctest_virtual_cancelled_go(Scale.count(20_000))) == nil)
    }

    @Test("virtual time against cancellation") func cancelRaces() {
      #expect(failure(of: ctest_virtual_cancel_races(Scale.count(1_000))) == nil)
    }

    @Test("virtual time from many threads") func threads() {
      #expect(failure(of: ctest_virtual_threads(4, Scale.count(500))) == nil)
    }

    @Test("what leaves a job in virtual time ends the drive") func left() {
      #expect(failure(of: ctest_virtual_left()) == nil)
    }

    @Test("after fork virtual time goes on") func fork() { #expect(failure(of: ctest_virtual_fork()) == nil) }

    @Test("a virtual run without an end stops the process") func endless() async {
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_virtual(0) },
        "csched_virtual_advance: ", "has run 1000 jobs", "turn_limit")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_virtual(1) },
        "csched_virtual_run: ", "has run 1000 jobs", "turn_limit")
    }
  }
}
