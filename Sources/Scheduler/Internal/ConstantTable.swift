/// Returns a place for `value` that lives as long as the process and never changes: what the core asks of a table of functions.
func constantTable<Table>(_ value: Table) -> UnsafePointer<Table> {
  let memory = UnsafeMutablePointer<Table>.allocate(capacity: 1)
  memory.initialize(to: value)
  return UnsafePointer(memory)
}
