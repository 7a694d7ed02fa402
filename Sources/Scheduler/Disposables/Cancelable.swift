/// Tells, besides, whether it is over.
public protocol Cancelable: Disposable {
  /// Tells whether it is disposed, or over: nothing of what it stands for will begin any more. It turns true once, and stays so.
  ///
  /// 1. From the beginning of the first ``Disposable/dispose()``, before its first effect.
  /// 2. For what a scheduler returns, also from the end of the run; of a periodic or recursive action, from the end of the last one. What
  ///    the action returned may be alive then: a later ``Disposable/dispose()`` disposes it.
  /// 3. For that, too, from the drop: by a scheduler that has been stopped, refuses, ends, or lets go of it for another reason. The closure
  ///    and its captures are gone then, as after the end of the run.
  ///
  /// One atomic load or two, but for virtual time, which has a lock. Whoever sees it true sees what was before the disposal, or what the run
  /// did.
  var isDisposed: Bool { get }
}
