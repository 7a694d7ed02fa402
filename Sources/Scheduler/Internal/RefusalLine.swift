internal import CScheduler

/// Calls `submit`; if it is refused, ``TargetCore/noteRefusal()`` prints no line.
///
/// Use it if the submitter learns of a refusal from an error or a handler, or if its own stop causes the refusal.
@inline(__always)
func withoutRefusalLine<Result>(_ submit: () throws -> Result) rethrows -> Result {
  #if DEBUG
    let before = csched_swift_tell_refusals_(true)
    defer { _ = csched_swift_tell_refusals_(before) }
  #endif
  return try submit()
}

/// Calls `action`, with refusal lines printed again.
///
/// An action may run inside a submission by ``withoutRefusalLine(_:)``. Its own submissions have a different submitter.
@inline(__always)
func withRefusalLine<Result>(_ action: () throws -> Result) rethrows -> Result {
  #if DEBUG
    guard csched_swift_are_refusals_told_() else { return try action() }
    _ = csched_swift_tell_refusals_(false)
    defer { _ = csched_swift_tell_refusals_(true) }
  #endif
  return try action()
}
