import CStart
import Dispatch

@main enum Program {
  static func main() {
    start_begin()
    DispatchQueue.global().async { start_action() }
    start_end()
  }
}
