/// Disposes what was put into it when it is itself released: an owner's field that ends all the owner began.
///
/// ```swift
/// final class Screen {
///   private let bag = DisposeBag()
///   func show() { source.subscribe(draw).disposed(by: bag) }
/// }  // a screen that dies ends its subscriptions
/// ```
///
/// The disposal goes in the order of insertion, on the thread that releases the last reference. There is no `dispose()`:
/// to end all at a chosen instant put a new bag in the place of the old one. The idea is that of RxSwift, which has it
/// from Objective-C's autorelease pools.
public final class DisposeBag: Sendable {
  private let counted = CountedDisposable()
  private let lock = InlineLock()
  // Under the lock, and in init and deinit.
  @exclusivity(unchecked) nonisolated(unsafe) private var children: ChildList

  /// Creates a bag that holds `disposables`.
  public init(disposing disposables: any Disposable...) {
    children = ChildList(disposables)
  }

  /// Creates a bag that holds `disposables`.
  public init(disposing disposables: [any Disposable]) {
    children = ChildList(disposables)
  }

  deinit {
    guard !children.isEmpty else { return }
    DisposalWalk.dispose { $0.push(children.takeAll()) }
  }

  /// Adds `disposable`.
  public func insert(_ disposable: any Disposable) {
    lock.lock()
    children.append(disposable)
    lock.unlock()
  }

  /// Adds `disposables` in order, with no other thread's in between.
  public func insert(_ disposables: any Disposable...) {
    insert(disposables)
  }

  /// Adds `disposables` in order, with no other thread's in between.
  public func insert(_ disposables: [any Disposable]) {
    lock.lock()
    children.append(contentsOf: disposables)
    lock.unlock()
  }
}
