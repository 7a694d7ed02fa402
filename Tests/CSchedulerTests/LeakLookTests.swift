import CTestSupport
import TestSupport
import Testing

extension CoreTests {
  @Suite struct LeakLookTests {
    @Test(
      "under AddressSanitizer a leak is found at the end of the process",
      .enabled(if: ctest_sanitizer() == CTEST_ADDRESS_SANITIZER))
    func leakIsFound() async {
      let result = await #expect(processExitsWith: .exitCode(23), observing: [\.standardErrorContent]) {
        ctest_leak_and_exit()
      }
      expectMessage(result, "4711 byte(s) in 1 object(s)", "leaks: found by each of the looks")
    }
  }
}
