// States of `phase`, which stays 0 unless drops are asked for
//   0          nobody submits the action, or nobody asked when it was submitted
//   SUBMITTED  it is being submitted, by a thread that will look whether it was dropped meanwhile
//   DROPPED    it was
// `asked`: whether anybody asks
// Obligations
//   DR1  A drop is told once: by who drops, unless the submission is under way; else by who submits.
//   DR2  What is dropped after somebody began to ask is told.
// Orderings
//   phase: relaxed; its changes alone decide · asked: relaxed; who has seen the beginning sees the word
// Assumes: a periodic action may be submitted again before a submission has ended; then its reason may be the wrong one.
// Checked by: "each drop is told once, with its scheduler and the reason", "a stop that races submissions tells of each that does not run, once".
// Models: swift/actions/actions.swift. Not modelled: DR2.

internal import Synchronization

/// Whether a drop of an action is to be told, and by whom.
struct DropReport: ~Copyable {
  private static let submitted: UInt8 = 1
  private static let dropped: UInt8 = 2
  private static let asked = Atomic(false)

  /// Whether anybody wants to know; changed under a lock of the observers'.
  static var isAsked: Bool {
    @inline(__always) get { asked.load(ordering: .relaxed) }  // DR2
    set { asked.store(newValue, ordering: .relaxed) }  // DR2
  }

  private let phase = Atomic<UInt8>(0)

  /// Calls `submission`, and `tell` if the action has been dropped when that returns; not if it was refused and `isTold` otherwise.
  /// Returns whether it was accepted.
  @inline(__always)
  func during(_ submission: () -> Int32, isTold: Bool = false, tell: () -> Void) -> Bool {
    let isAsked = isTold || Self.isAsked
    if isAsked { phase.store(Self.submitted, ordering: .relaxed) }  // DR1: the submission orders it
    let isAccepted = submission() == 0
    if isAsked, end(), isAccepted || !isTold { tell() }
    return isAccepted
  }

  private func end() -> Bool { phase.exchange(0, ordering: .relaxed) == Self.dropped }  // DR1

  /// Notes the drop of an action that is or is not `disposed`, and calls `tell` if it is to be told now.
  @inline(__always)
  func drop(disposed: borrowing Atomic<Bool>, tell: () -> Void) {
    // racy read: who disposes at the same time may find it told
    if Self.isAsked, !disposed.load(ordering: .relaxed), markDropped() { tell() }
  }

  /// Returns whether the submission is not under way.
  private func markDropped() -> Bool {
    let (isLeft, _) = phase.compareExchange(expected: Self.submitted, desired: Self.dropped, ordering: .relaxed)  // DR1
    return !isLeft
  }
}
