import TestSupport
import Testing

/// All tests of the C core. Serialized, because they measure, and because kernels run one at a time.
@Suite(.serialized, .nothingIsLeft) enum CoreTests {}

func freshSeed(_ name: String) -> UInt64 { SeededGenerator.freshSeed(for: name) }
