/// Returns a copy of `value` that never changes and is never freed, as the C core requires for a table of functions.
func constantTable<Table>(_ value: Table) -> UnsafePointer<Table> {
  let memory = UnsafeMutablePointer<Table>.allocate(capacity: 1)
  memory.initialize(to: value)
  return UnsafePointer(memory)
}
