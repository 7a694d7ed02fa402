/// Names one child of one ``CompositeDisposable``: what ``CompositeDisposable/insert(_:)-(Disposable)`` returns.
///
/// A key is never given out twice. To another composite it means nothing.
public struct DisposeKey: Hashable, Sendable {
  let owner: ObjectIdentifier
  let id: UInt64
}
