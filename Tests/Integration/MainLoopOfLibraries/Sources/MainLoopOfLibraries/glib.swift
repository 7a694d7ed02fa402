import CGLib
import Scheduler

@MainActor func runInGLib() throws {
  let loop = g_main_loop_new(nil, 0)
  defer { g_main_loop_unref(loop) }
  g_timeout_add(
    1,
    { _ in
      MainActor.assumeIsolated { seen.ticksOfLibrary += 1 }
      return 1  // G_SOURCE_CONTINUE
    }, nil)

  g_unix_fd_add(
    try MainScheduler.hostedDescriptor(), G_IO_IN,
    { _, _, loop in
      MainActor.assumeIsolated { seen.rounds += 1 }
      if MainScheduler.runReady() { return 1 }  // G_SOURCE_CONTINUE
      g_main_loop_quit(OpaquePointer(loop))
      return 0  // G_SOURCE_REMOVE
    }, UnsafeMutableRawPointer(loop))
  g_main_loop_run(loop)
}
