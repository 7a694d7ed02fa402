// For every kind of disposable: a thread that sees the disposal sees the disposer's writes before it.

nonisolated(unsafe) private var note: Note!

func publication(_ disposable: any Disposable, by outer: (any Disposable)? = nil) {
  let before = Note()
  note = before
  spawn {
    before.value = 1
    (outer ?? disposable).dispose()
  }
  spawn { if disposable.isDisposed { expect(before.value == 1, "what was before") } }
}

func seen() { note = nil }
