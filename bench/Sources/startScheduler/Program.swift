import CStart
import Scheduler

@main enum Program {
  static func main() {
    start_begin()
    let pool = ConcurrentScheduler()
    pool.schedule { start_action() }
    start_end()
  }
}
