// Names each public type of `Scheduler` beside the modules that programs import with it. A name that another module
// has, too, does not compile: it is ambiguous. Links to this file are in packages that have these modules.

import Dispatch
import Foundation
import Scheduler
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif
#if canImport(AsyncAlgorithms)
  import AsyncAlgorithms
#endif
#if canImport(Logging)
  import Logging
#endif
#if canImport(Metrics)
  import Metrics
#endif
#if canImport(NIOCore)
  import NIOCore
#endif
#if canImport(OpenCombine) && canImport(COpenCombineHelpers)
  import OpenCombine
#endif
#if canImport(ServiceLifecycle)
  import ServiceLifecycle
#endif

nonisolated let names: [Any.Type] = [
  ActionContext.self, ActionGroup.self, ActionTiming.self, AnyDisposable.self, AsyncLimit.self, AsyncLock<Int>.self,
  AsyncOnce<Int, Int>.self, AsyncSemaphore.self, Backoff.self, BlockingObservable<Int>.self, CompositeDisposable.self,
  ConcurrentScheduler.self, CountingSemaphore.self, CurrentThreadScheduler.self, CustomScheduler.self, Deadline.self,
  Diagnostics.self, (any Disposable).self, DisposeBag.self, FileChange.self, Guarded<Int>.self,
  ImmediateScheduler.self, (any ImmediateSchedulerType).self, LoopScheduler.self, MainScheduler.self,
  MergingEvent.self, MonotonicTime.self, PeriodicAction.self, ProcessEnd.self, Protected<Int>.self,
  ReadWriteLock.self, RecursiveLock.self, ResultGroup<Int>.self, RunLoopLock.self, ScheduledDisposable.self,
  SchedulerClock.self, SchedulerError.self, SchedulerPriority.self, SchedulerStatistics.self, SchedulerTarget.self,
  (any SchedulerType).self, Schedulers.self, SerialDisposable.self, SerialScheduler.self,
  SingleAssignmentDisposable.self, SubscriptionScheduler.self, TestScheduler.self, ThreadScheduler.self,
  UnfairLock.self, VirtualTimeScheduler<MonotonicTime>.self, WallTime.self, WatchReport.self, WorkerPool.self,
]
