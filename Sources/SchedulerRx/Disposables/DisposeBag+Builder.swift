public import Scheduler

extension DisposeBag {
  /// Creates a bag with the disposables that `builder` lists.
  ///
  /// ```swift
  /// let bag = DisposeBag {
  ///   clock.subscribe(tick)
  ///   if online { network.subscribe(show) }
  /// }
  /// ```
  public convenience init(@Builder builder: () -> [any Disposable]) {
    self.init(disposing: builder())  // the bag disposes them when it is released
  }

  /// Adds the disposables that `builder` lists, in order.
  public func insert(@Builder builder: () -> [any Disposable]) { insert(builder()) }

  /// Builds a list of disposables, one per line, with `if`, `switch` and `for`.
  @resultBuilder
  public enum Builder {
    /// Returns a list of one disposable.
    public static func buildExpression(_ disposable: any Disposable) -> [any Disposable] { [disposable] }
    /// Returns the disposables of an array.
    public static func buildExpression(_ disposables: [any Disposable]) -> [any Disposable] { disposables }
    /// Joins the lines of a block.
    public static func buildBlock(_ lines: [any Disposable]...) -> [any Disposable] { lines.flatMap { $0 } }
    /// Returns the disposables of an `if` without `else`.
    public static func buildOptional(_ line: [any Disposable]?) -> [any Disposable] { line ?? [] }
    /// Returns the disposables of the first branch.
    public static func buildEither(first line: [any Disposable]) -> [any Disposable] { line }
    /// Returns the disposables of the second branch.
    public static func buildEither(second line: [any Disposable]) -> [any Disposable] { line }
    /// Returns the disposables of a loop.
    public static func buildArray(_ lines: [[any Disposable]]) -> [any Disposable] { lines.flatMap { $0 } }
    /// Returns the disposables of an `if #available`.
    public static func buildLimitedAvailability(_ line: [any Disposable]) -> [any Disposable] { line }
  }
}
