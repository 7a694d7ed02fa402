/// Does nothing: for work that was over before its disposable could be handed out. It has no storage.
struct NopDisposable: Cancelable {
  /// True: there is nothing that would still come.
  var isDisposed: Bool { true }

  func dispose() {}
}
