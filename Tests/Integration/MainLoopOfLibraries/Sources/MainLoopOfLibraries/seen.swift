/// All that happened, on the main actor: that an action may touch it at all is one of the checks.
@MainActor struct Seen {
  var last = -1, delayed: [Int] = [], ticksOfLibrary = 0, rounds = 0
}
@MainActor var seen = Seen()
