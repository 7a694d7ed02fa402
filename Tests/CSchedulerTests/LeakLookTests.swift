import CTestSupport
import TestSupport
import Testing

extension CoreTests {
  @Suite struct LeakLookTests {
    /// A build without AddressSanitizer has nobody who looks: the process ends well there, and says nothing of leaks.
    @Test("under AddressSanitizer a leak is found at the end of the process, otherwise none is looked for")
    func leakIsFound() async {
      let isLookedFor = ctest_sanitizer() == CTEST_ADDRESS_SANITIZER
      let result = await #expect(
        processExitsWith: isLookedFor ? .exitCode(23) : .exitCode(0), observing: [\.standardErrorContent]
      ) {
        ctest_leak_and_exit()
      }
      if isLookedFor {
        expectMessage(result, "4711 byte(s) in 1 object(s)", "leaks: found by each of the looks")
      } else {
        let said = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) }
        #expect(said?.contains("leaks:") == false)
      }
    }
  }
}
