/// A disposable without an effect, for work that was over before its disposable could be returned. It has no storage.
package struct NopDisposable: Disposable {
  package init() {}

  /// True, because no work remains.
  package var isDisposed: Bool { true }

  package func dispose() {}
}
