/// Arguments that come as one text, as in make's BENCH_ARGS: words between spaces; '…' and "…", at the beginning of a
/// word or behind its =, keep spaces together. Nothing else means anything, so that a regular expression arrives as it
/// was written.
public enum Words {
  public struct OpenQuote: Error, CustomStringConvertible {
    let quote: Character
    public var description: String { "there is a \(quote) without another one" }
  }

  public static func split(_ text: String) throws -> [String] {
    var words: [String] = [], word: String?, quote: Character?
    for character in text {
      if let open = quote {
        if character == open { quote = nil } else { word?.append(character) }
      } else if character == "'" || character == "\"", word == nil || word?.last == "=" {
        quote = character
        word = word ?? ""
      } else if character.isWhitespace {
        if let done = word { words.append(done) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let quote { throw OpenQuote(quote: quote) }
    return words + (word.map { [$0] } ?? [])
  }
}
