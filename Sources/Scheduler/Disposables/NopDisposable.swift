/// Does nothing: for work that was over before its disposable could be handed out. It has no storage.
struct NopDisposable: Disposable {
  func dispose() {}
}
