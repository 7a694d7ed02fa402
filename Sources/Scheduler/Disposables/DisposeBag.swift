/// A container that disposes its contents when it is released. As a stored property, it ends the work that its owner
/// started.
///
/// ```swift
/// final class Screen {
///   private let bag = DisposeBag()
///   func show() { source.subscribe(draw).disposed(by: bag) }
/// }  // the deinit of a screen ends its subscriptions
/// ```
///
/// Contents are disposed in insertion order, on the thread that releases the last reference. There is no `dispose()`:
/// to dispose everything earlier, replace the bag with a new one. The idea is from RxSwift, which has it from
/// Objective-C's autorelease pools.
public final class DisposeBag: Sendable {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let lock = InlineLock()
  // Accessed under the lock, and in init and deinit.
  @exclusivity(unchecked) nonisolated(unsafe) private var children: ChildList

  /// Creates a bag that holds `disposables`.
  public init(disposing disposables: any Disposable...) { children = ChildList(disposables) }

  /// Creates a bag that holds `disposables`.
  public init(disposing disposables: [any Disposable]) {
    children = ChildList(disposables)
  }

  deinit {
    guard !children.isEmpty else { return }
    DisposalWalk.dispose { $0.push(children.takeAll()) }  // disposes nested containers without recursion
  }

  /// Adds `disposable` to the bag.
  // Speed only: without the attribute the compiler makes this function generic, which boxes its argument again.
  @inline(__always)
  public func insert(_ disposable: any Disposable) {
    lock.lock()
    children.append(disposable)
    lock.unlock()
  }

  /// Adds `disposables` in order, in one critical section.
  public func insert(_ disposables: any Disposable...) { insert(disposables) }

  /// Adds `disposables` in order, in one critical section.
  public func insert(_ disposables: [any Disposable]) {
    lock.lock()
    children.append(contentsOf: disposables)
    lock.unlock()
  }
}

extension Disposable {
  /// Adds this disposable to `bag`, which disposes it when the bag is released.
  ///
  /// - Parameter bag: the bag that disposes this disposable.
  public func disposed(by bag: DisposeBag) { bag.insert(self) }

  /// Adds this disposable to `bag`, which disposes it when the bag is released. Combine's name for ``disposed(by:)``.
  public func store(in bag: DisposeBag) { bag.insert(self) }
}
