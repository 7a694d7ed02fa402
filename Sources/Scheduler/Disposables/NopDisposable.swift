/// Does nothing: for work that was over before its disposable could be handed out. It has no storage.
struct NopDisposable: Disposable {
  /// True: there is nothing that would still come.
  var isDisposed: Bool { true }

  func dispose() {}
}
