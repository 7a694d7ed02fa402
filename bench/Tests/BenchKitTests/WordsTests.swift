import BenchKit
import Testing

@Suite struct WordsTests {
  @Test(
    "a text becomes words as it was written",
    arguments: [
      ("--filter K1|K2", ["--filter", "K1|K2"]),
      ("", []),
      ("  --quick   --rounds 3 ", ["--quick", "--rounds", "3"]),
      ("--filter 'round trip|K1' --quick", ["--filter", "round trip|K1", "--quick"]),
      ("--filter=\"a b\"", ["--filter=a b"]),
      ("--filter ''", ["--filter", ""]),
      (#"--filter K\d+$;(x)&*`y`"#, ["--filter", #"K\d+$;(x)&*`y`"#]),
      ("--filter \"it's\"", ["--filter", "it's"]),
      ("--filter Dispatch's", ["--filter", "Dispatch's"]),
    ]) func split(_ text: String, _ words: [String]) throws
  { #expect(try Words.split(text) == words) }

  @Test("a quote without another one is refused") func openQuote() {
    #expect(throws: Words.OpenQuote.self) { try Words.split("--filter 'K1") }
  }
}
