/// Does nothing: for work that was over before its disposable could be handed out. It has no storage.
package struct NopDisposable: Disposable {
  package init() {}

  /// True: there is nothing that would still come.
  package var isDisposed: Bool { true }

  package func dispose() {}
}
