// Who sees that a disposable is disposed sees what the disposer did before: for every kind.

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
