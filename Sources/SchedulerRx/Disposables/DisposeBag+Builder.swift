public import Scheduler

extension DisposeBag {
  /// Creates a bag that holds the disposables that `builder` lists.
  ///
  /// ```swift
  /// let bag = DisposeBag {
  ///   clock.subscribe(tick)
  ///   if online { network.subscribe(show) }
  /// }
  /// ```
  public convenience init(@Builder builder: () -> [any Disposable]) {
    self.init(disposing: builder())
  }

  /// Adds the disposables that `builder` lists, in order.
  public func insert(@Builder builder: () -> [any Disposable]) {
    insert(builder())
  }

  /// Lists disposables, one a line, with `if`, `switch` and `for`.
  @resultBuilder
  public enum Builder {
    /// Lists one.
    public static func buildExpression(_ disposable: any Disposable) -> [any Disposable] { [disposable] }

    /// Lists those of an array.
    public static func buildExpression(_ disposables: [any Disposable]) -> [any Disposable] { disposables }

    /// Joins the lines.
    public static func buildBlock(_ lines: [any Disposable]...) -> [any Disposable] { lines.flatMap { $0 } }

    /// Lists those of an `if` without `else`.
    public static func buildOptional(_ line: [any Disposable]?) -> [any Disposable] { line ?? [] }

    /// Lists those of a first branch.
    public static func buildEither(first line: [any Disposable]) -> [any Disposable] { line }

    /// Lists those of a second branch.
    public static func buildEither(second line: [any Disposable]) -> [any Disposable] { line }

    /// Lists those of a loop.
    public static func buildArray(_ lines: [[any Disposable]]) -> [any Disposable] { lines.flatMap { $0 } }

    /// Lists those of an `if #available`.
    public static func buildLimitedAvailability(_ line: [any Disposable]) -> [any Disposable] { line }
  }
}
