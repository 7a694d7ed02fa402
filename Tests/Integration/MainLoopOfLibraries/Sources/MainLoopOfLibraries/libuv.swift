import CUV
import Scheduler

@MainActor func runInLibuv() throws {
  let loop = uv_default_loop()
  let timer = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
  uv_timer_init(loop, timer)
  uv_timer_start(timer, { _ in MainActor.assumeIsolated { seen.ticksOfLibrary += 1 } }, 1, 1)

  let poll = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
  uv_poll_init(loop, poll, try MainScheduler.hostedDescriptor())
  uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { poll, _, _ in
    MainActor.assumeIsolated { seen.rounds += 1 }
    if !MainScheduler.runReady() { uv_stop(poll!.pointee.loop) }
  }
  uv_run(loop, UV_RUN_DEFAULT)

  for handle in [UnsafeMutableRawPointer(timer), UnsafeMutableRawPointer(poll)] {
    uv_close(handle.assumingMemoryBound(to: uv_handle_t.self), nil)
  }
  uv_run(loop, UV_RUN_DEFAULT)  // until they are closed
  timer.deallocate()
  poll.deallocate()
}
