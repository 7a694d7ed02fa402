internal import CScheduler

/// Calls `submit`, whose caller gets a refusal as an error or by a handler, or asked for it by a stop: ``TargetCore/noteRefusal()`` prints nothing.
@inline(__always)
func withoutRefusalLine<Result>(_ submit: () throws -> Result) rethrows -> Result {
  #if DEBUG
    let before = csched_swift_tell_refusals_(true)
    defer { _ = csched_swift_tell_refusals_(before) }
  #endif
  return try submit()
}

/// Calls `action`, which may run inside of such a submission: what it submits has a caller of its own.
@inline(__always)
func withRefusalLine<Result>(_ action: () throws -> Result) rethrows -> Result {
  #if DEBUG
    guard csched_swift_are_refusals_told_() else { return try action() }
    _ = csched_swift_tell_refusals_(false)
    defer { _ = csched_swift_tell_refusals_(true) }
  #endif
  return try action()
}
